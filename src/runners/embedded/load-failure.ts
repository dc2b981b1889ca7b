import { constants, type FileHandle, open } from 'node:fs/promises'
import { messageOf } from '../../kernel/errors.ts'

/** A load that cannot succeed; `message` is the one decisive line. */
export class LoadFailure extends Error {}

const GGUF_MAGIC = 'GGUF'

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : ''
}

async function openModel(path: string): Promise<FileHandle> {
  try {
    return await open(path, constants.O_RDONLY)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') throw new LoadFailure(`model file not found: ${path}`)
    if (codeOf(error) === 'EACCES') throw new LoadFailure(`model file may not be read (permission denied): ${path}`)
    throw new LoadFailure(`model file cannot be opened: ${path}: ${messageOf(error)}`)
  }
}

/** Catches what the library would report in a roundabout way: no file, no permission, not a GGUF. Errors: LoadFailure. */
export async function checkModelFile(path: string): Promise<void> {
  const file = await openModel(path)
  try {
    if (!(await file.stat()).isFile()) throw new LoadFailure(`model path is not a file: ${path}`)
    const { bytesRead, buffer } = await file.read(Buffer.alloc(4), 0, 4, 0)
    const magic = buffer.toString('latin1', 0, bytesRead)
    if (magic !== GGUF_MAGIC) {
      throw new LoadFailure(`not a GGUF file (it begins with ${JSON.stringify(magic)}, not "GGUF"): ${path}`)
    }
  } finally {
    await file.close()
  }
}

/** What llama.cpp's complaints are searched for, most telling first. */
const TELLING = [
  /unknown model architecture|failed to allocate|file bounds|missing tensor/,
  /^gguf_init\w*: /,
  /error loading model/,
] as const

/** The decisive line for whatever a load threw. `nativeErrors`: what llama.cpp said, oldest first. */
export function describeLoadFailure(thrown: unknown, modelPath: string, nativeErrors: readonly string[]): string {
  if (thrown instanceof LoadFailure) return thrown.message
  for (const pattern of TELLING) {
    const line = nativeErrors.find((candidate) => pattern.test(candidate))
    if (line !== undefined) return `failed to load model ${modelPath}: ${line}`
  }
  return `failed to load model ${modelPath}: ${nativeErrors.at(-1) ?? messageOf(thrown)}`
}
