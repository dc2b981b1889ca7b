import { createHash } from 'node:crypto'
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { MIB } from '../../kernel/units.ts'
import { hashInto } from './hash-file.ts'

const bytes = Buffer.alloc(3 * MIB + 7, 'hal0')
let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-hash-'))
  await writeFile(join(folder, 'f'), bytes)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

it.each([0, 1, MIB, 2 * MIB + 1, bytes.length])('hashes the first %i bytes', async (sizeBytes) => {
  const handle = await open(join(folder, 'f'))
  const hash = createHash('sha256')
  await hashInto(hash, handle, sizeBytes, new AbortController().signal)
  await handle.close()
  expect(hash.digest('hex')).toBe(createHash('sha256').update(bytes.subarray(0, sizeBytes)).digest('hex'))
})

it('stops in the middle when it is told to', async () => {
  const handle = await open(join(folder, 'f'))
  const stop = new AbortController()
  // The first piece is being read by then.
  const hashing = hashInto(createHash('sha256'), handle, bytes.length, stop.signal)
  stop.abort(new Error('stopped'))
  await expect(hashing).rejects.toThrow('stopped')
  await handle.close()
})

it('tells when the file is shorter than it should be', async () => {
  const handle = await open(join(folder, 'f'))
  const hashing = hashInto(createHash('sha256'), handle, bytes.length + 1, new AbortController().signal)
  await expect(hashing).rejects.toThrow(/ends at byte 3145735/)
  await handle.close()
})
