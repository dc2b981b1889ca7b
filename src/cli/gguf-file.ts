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
