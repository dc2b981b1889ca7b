import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { onTestFinished } from 'vitest'
import { FAKE_ENGINE } from './start-fake.ts'

/** A fake engine that keeps a list of what it has read; the list outlives it, and is one for all engines of the test. */
export interface RecordingEngine {
  /** The program; it takes the fake engine's argv. */
  readonly binary: string
  /** How often each request id was read. What hal0 asks for itself has no id. */
  timesRead(): Promise<ReadonlyMap<string, number>>
}

function programOf(list: string): string {
  return `#!/usr/bin/env node
import { appendFileSync } from 'node:fs'
import { Server } from 'node:http'
const { emit } = Server.prototype
Server.prototype.emit = function (name, req, ...more) {
  // In the same turn as its head came out of the kernel: whatever becomes of the process, it is written down.
  const id = name === 'request' ? req.headers['x-request-id'] : undefined
  if (id !== undefined) appendFileSync(${JSON.stringify(list)}, id + '\\n')
  return emit.call(this, name, req, ...more)
}
await import(${JSON.stringify(pathToFileURL(FAKE_ENGINE).href)})
`
}

/** Writes the program; it is gone when the test is over. */
export async function makeRecordingEngine(): Promise<RecordingEngine> {
  const folder = await mkdtemp(join(tmpdir(), 'hal0-recording-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const list = join(folder, 'read')
  const binary = join(folder, 'engine.mjs')
  await writeFile(list, '')
  await writeFile(binary, programOf(list))
  await chmod(binary, 0o755)
  return {
    binary,
    async timesRead() {
      const times = new Map<string, number>()
      for (const id of (await readFile(list, 'utf8')).split('\n')) {
        if (id !== '') times.set(id, (times.get(id) ?? 0) + 1)
      }
      return times
    },
  }
}
