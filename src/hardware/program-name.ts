import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'

/**
 * Which program is this process? `folder`: its /proc folder. The name of its program file, without folder and arguments (arguments may hold
 * secrets). argv[0] where it can be read: a program may rename its main thread, which changes `comm`. Never rejects.
 */
export async function readProgramName(folder: string): Promise<string> {
  const read = (name: string) => readFile(join(folder, name), 'utf8').catch(() => '')
  const program = basename((await read('cmdline')).split('\0')[0] ?? '')
  if (program !== '') return program
  const comm = (await read('comm')).trim()
  return comm === '' ? 'unknown program' : comm
}
