import { open, stat } from 'node:fs/promises'
import { errnoOf, Hal0Error, messageOf } from '../../kernel/errors.ts'

/** How much of a script is read to name its interpreter. */
const SHEBANG_BYTES = 256

/**
 * The error of a program that could not be started: which program, and why, in words. Neither arguments nor environment are part of
 * it. Errors: `slot.spawn_failed`.
 */
export async function spawnFailure(slot: string, program: string, path: string, cause: unknown): Promise<Hal0Error> {
  const reason = await explain(program, path, errnoOf(cause), cause)
  return Hal0Error.of('slot.spawn_failed', `slot ${slot}: cannot start ${program}: ${reason}`, {
    details: { program, reason },
    cause,
  })
}

/** The error of a log that could not be opened. Errors: `slot.spawn_failed`. */
export function logFailure(slot: string, program: string, logPath: string, cause: unknown): Hal0Error {
  const reason = `its log ${logPath} cannot be opened for writing: ${messageOf(cause)}`
  return Hal0Error.of('slot.spawn_failed', `slot ${slot}: cannot start ${program}: ${reason}`, {
    details: { program, reason },
    cause,
  })
}

async function explain(program: string, path: string, errno: string | undefined, cause: unknown): Promise<string> {
  switch (errno) {
    case 'ENOENT':
      return await explainMissing(program, path)
    case 'EACCES':
    case 'EPERM':
      return await explainDenied(program, path)
    case 'ENOTDIR':
      return 'a part of its path is a file, not a folder'
    case 'E2BIG':
      return 'its command line and environment are longer than the system allows'
    case 'ENOEXEC':
      return 'it is not a program for this machine (another processor, or a damaged file)'
    case 'EMFILE':
    case 'ENFILE':
      return 'no file descriptors are left (raise LimitNOFILE or `ulimit -n`)'
    case 'EAGAIN':
    case 'ENOMEM':
      return `the system has no room for another process (${errno}: process limit or memory)`
    default:
      return messageOf(cause)
  }
}

async function explainMissing(program: string, path: string): Promise<string> {
  if (!program.includes('/')) return `there is no such program on PATH (${path === '' ? 'which is empty' : path})`
  if ((await stat(program).catch(() => undefined)) === undefined) return 'there is no such file'
  const interpreter = await readInterpreter(program)
  if (interpreter !== undefined) return `its interpreter ${interpreter}, named in its first line, does not exist`
  return 'the file is there, but the loader it needs is not (built for another system)'
}

async function explainDenied(program: string, path: string): Promise<string> {
  if (!program.includes('/')) return `what PATH has under that name may not be executed (${path})`
  const facts = await stat(program).catch(() => undefined)
  if (facts?.isDirectory()) return 'it is a folder, not a program'
  if (facts !== undefined && (facts.mode & 0o111) === 0) return `it is not executable (chmod +x ${program})`
  return 'permission denied: the user hal0 runs as may not execute it, its interpreter, or enter a folder of its path'
}

async function readInterpreter(program: string): Promise<string | undefined> {
  const handle = await open(program, 'r').catch(() => undefined)
  if (handle === undefined) return undefined
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(SHEBANG_BYTES), 0, SHEBANG_BYTES, 0)
    return /^#!\s*(\S+)/.exec(buffer.toString('utf8', 0, bytesRead))?.[1]
  } finally {
    await handle.close()
  }
}
