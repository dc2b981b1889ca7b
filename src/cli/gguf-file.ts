import { basename } from 'node:path'
import { checkGgufFile, describeGgufRefusal } from '../files/gguf-file.ts'
import { CliError } from './cli-error.ts'

/** Is this a readable GGUF file? `path` is absolute. Errors: `model_file` (CliError naming the file and what is wrong with it). */
export async function requireGgufFile(path: string): Promise<void> {
  const refusal = await checkGgufFile(path)
  if (refusal === undefined) return
  const text = describeGgufRefusal(path, refusal)
  throw new CliError(
    'model_file',
    `${text.charAt(0).toUpperCase()}${text.slice(1)}.`,
    'Give the path of a model file in GGUF format, for example /models/my-model.gguf.',
  )
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
