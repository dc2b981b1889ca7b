import { open, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { messageOf } from '../kernel/errors.ts'
import { CliError } from './cli-error.ts'

/** First four bytes of every GGUF file. */
const MAGIC = 'GGUF'

/** Is this a readable GGUF file? `path` is absolute. Errors: `model_file` (CliError naming the file and what is wrong with it). */
export async function checkGgufFile(path: string): Promise<void> {
  const facts = await stat(path).catch((cause: unknown) => {
    throw modelFileError(isMissing(cause) ? `There is no file ${path}.` : `${path}: ${messageOf(cause)}.`)
  })
  if (facts.isDirectory()) throw modelFileError(`${path} is a folder.`)
  if (!facts.isFile()) throw modelFileError(`${path} is not a regular file.`)
  const first = await readFirstBytes(path)
  if (first !== MAGIC) throw modelFileError(`${path} is not a GGUF file: it does not start with "${MAGIC}".`)
}

async function readFirstBytes(path: string): Promise<string> {
  try {
    const file = await open(path, 'r')
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(MAGIC.length), 0, MAGIC.length, 0)
      return buffer.subarray(0, bytesRead).toString('latin1')
    } finally {
      await file.close()
    }
  } catch (cause) {
    throw modelFileError(`${path} cannot be read: ${messageOf(cause)}.`)
  }
}

function modelFileError(message: string): CliError {
  return new CliError(
    'model_file',
    message,
    'Give the path of a model file in GGUF format, for example /models/my-model.gguf.',
  )
}

function isMissing(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && (cause.code === 'ENOENT' || cause.code === 'ENOTDIR')
}

/** A model id made of the file's name: without folder, `.gguf` and the number of a shard, other characters as `-`. */
export function modelIdFor(path: string): string {
  const stem = basename(path)
    .replace(/\.gguf$/i, '')
    .replace(/-\d{5}-of-\d{5}$/, '')
  const id = stem
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 100)
  return id === '' ? 'model' : id
}
