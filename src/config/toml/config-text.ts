import { constants, lstat, open, stat } from 'node:fs/promises'
import { isNotFound, messageOf } from '../../kernel/errors.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { MIB } from '../../kernel/units.ts'
import type { ConfigMistake } from './mistake.ts'

/** Longer is not a settings file. */
const MAX_BYTES = MIB

/**
 * The text of a settings file, with the mark at its start (BOM) if it has one. Only a regular file is read (through links): a pipe or a
 * device could hold the daemon up for ever. Bytes that are no UTF-8 are a mistake: read as question marks, an edit would write those back.
 */
export async function readConfigText(path: string): Promise<Result<string, ConfigMistake> | 'absent'> {
  const mistake = (expected: string) => err({ file: path, keyPath: '', expected })
  try {
    if (!(await stat(path)).isFile()) return mistake('expected a regular file')
    const read = await readBounded(path)
    if (typeof read === 'string') return mistake(read)
    const text = decode(read)
    return text === undefined ? mistake(`expected text in UTF-8 (${describePlace(read)})`) : ok(text)
  } catch (cause) {
    if (!isNotFound(cause)) return mistake(`expected a readable file (${messageOf(cause)})`)
    const isLink = await lstat(path).then(
      (facts) => facts.isSymbolicLink(),
      () => false,
    )
    return isLink ? mistake('is a link to a file that is not there: put that file back, or remove the link') : 'absent'
  }
}

/** The bytes, or what was expected instead. The path may become a pipe after the first look: opened so, not even that one holds us up. */
async function readBounded(path: string): Promise<Buffer | string> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const facts = await handle.stat()
    if (!facts.isFile()) return 'expected a regular file'
    if (facts.size > MAX_BYTES) return `expected at most ${MAX_BYTES} bytes (it has ${facts.size})`
    return await handle.readFile()
  } finally {
    await handle.close()
  }
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** The line of the first byte that is no UTF-8. */
function describePlace(bytes: Buffer): string {
  let line = 1
  for (let start = 0; start < bytes.length; line++) {
    const end = bytes.indexOf(0x0a, start)
    const next = end === -1 ? bytes.length : end + 1
    if (decode(bytes.subarray(start, next)) === undefined) break
    start = next
  }
  return `line ${line} has bytes that are none`
}
