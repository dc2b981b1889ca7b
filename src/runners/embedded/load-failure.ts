import { checkGgufFile, GGUF_MAGIC, type GgufRefusal } from '../../files/gguf-file.ts'
import { messageOf } from '../../kernel/errors.ts'

/** A load that cannot succeed; `message` is the one decisive line. */
export class LoadFailure extends Error {}

/** Catches what the library would report in a roundabout way: no file, no permission, not a GGUF. Errors: LoadFailure. */
export async function checkModelFile(path: string): Promise<void> {
  const refusal = await checkGgufFile(path)
  if (refusal !== undefined) throw new LoadFailure(decisiveLine(path, refusal))
}

/** In the words of LLAMA_CPP_SIGNATURES. */
function decisiveLine(path: string, refusal: GgufRefusal): string {
  switch (refusal.kind) {
    case 'missing':
      return `model file not found: ${path}`
    case 'unreadable':
      return refusal.errno === 'EACCES'
        ? `model file may not be read (permission denied): ${path}`
        : `model file cannot be opened: ${path}: ${refusal.reason}`
    case 'folder':
    case 'not_regular':
      return `model path is not a file: ${path}`
    case 'not_gguf':
      return `not a GGUF file (it begins with ${JSON.stringify(refusal.begins)}, not "${GGUF_MAGIC}"): ${path}`
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
