import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SpoolFile } from './spool-file.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hal0-spool-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Names in the folder, and files of it that this process holds open. */
function left(): number {
  const open = readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder)
    } catch {
      return false
    }
  })
  return open.length + readdirSync(folder).length
}

const append = (file: SpoolFile, text: string): Promise<Error | undefined> =>
  new Promise((resolve) => file.append(Buffer.from(text), resolve))
const next = (file: SpoolFile): Promise<string> =>
  new Promise((resolve, reject) => {
    file.next((error, bytes) => (error === undefined ? resolve(bytes.toString()) : reject(error)))
  })

describe('a temporary file', () => {
  it('gives back what was put into it, and has no name', async () => {
    const file = new SpoolFile(folder)
    expect(left()).toBe(0)
    expect([await append(file, 'one'), await append(file, 'two')]).toEqual([undefined, undefined])
    expect([file.sizeBytes, left(), readdirSync(folder)]).toEqual([6, 1, []])
    expect([await next(file), await next(file)]).toEqual(['onetwo', ''])
    file.close()
    file.close()
    await expect.poll(left).toBe(0)
  })

  it('that is closed while it is being made leaves neither name nor file, and calls nobody back', async () => {
    let calls = 0
    for (let nth = 0; nth < 20; nth++) {
      const file = new SpoolFile(folder)
      file.append(Buffer.from('x'), () => calls++)
      file.close()
    }
    // As many again, so that the first ones are over.
    for (let nth = 0; nth < 20; nth++) {
      const file = new SpoolFile(folder)
      await append(file, 'y')
      file.close()
    }
    await expect.poll(left).toBe(0)
    expect(calls).toBe(0)
  })

  it('makes its folder where it is missing, and says what the file system says where it cannot', async () => {
    const below = new SpoolFile(join(folder, 'a', 'b'))
    expect(await append(below, 'x')).toBeUndefined()
    below.close()
    writeFileSync(join(folder, 'c'), '')
    const nowhere = new SpoolFile(join(folder, 'c', 'd'))
    expect(await append(nowhere, 'x')).toMatchObject({ code: 'ENOTDIR' })
    nowhere.close()
  })
})
