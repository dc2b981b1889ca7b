import { readFile, stat } from 'node:fs/promises'
import { isNotFound, messageOf } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { MIB } from '../kernel/units.ts'
import type { ConfigMistake } from './mistake.ts'

/** Longer is not a settings file. */
const MAX_BYTES = MIB

/**
 * The text of a settings file. Only a regular file is read (through links): a pipe or a device could hold the daemon up for ever.
 */
export async function readConfigText(path: string): Promise<Result<string, ConfigMistake> | 'absent'> {
  const mistake = (expected: string) => err({ file: path, keyPath: '', expected })
  try {
    const facts = await stat(path)
    if (!facts.isFile()) return mistake('expected a regular file')
    if (facts.size > MAX_BYTES) return mistake(`expected at most ${MAX_BYTES} bytes (it has ${facts.size})`)
    return ok(await readFile(path, 'utf8'))
  } catch (cause) {
    if (isNotFound(cause)) return 'absent'
    return mistake(`expected a readable file (${messageOf(cause)})`)
  }
}
