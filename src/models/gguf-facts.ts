import { open, stat } from 'node:fs/promises'
import { gguf } from '@huggingface/gguf'
import { Hal0Error, messageOf } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'

/** What hal0 reads from a GGUF header today. */
export interface GgufFacts {
  readonly architecture: string
  /** The window the model was trained with, in tokens; null = the file does not say. */
  readonly nativeCtxTokens: number | null
}

/** First four bytes of every GGUF file. */
const GGUF_MAGIC = 'GGUF'

/**
 * Is this a file that starts like a GGUF? The answer names the path and what is wrong with it.
 * Reads four bytes.
 */
export async function checkGgufFile(path: string): Promise<Result<{ sizeBytes: number }, string>> {
  let facts: Awaited<ReturnType<typeof stat>>
  try {
    facts = await stat(path)
  } catch (cause) {
    return err(`cannot read ${path}: ${messageOf(cause)}`)
  }
  if (!facts.isFile()) return err(`${path} is not a file`)
  const handle = await open(path, 'r').catch((cause: unknown) => messageOf(cause))
  if (typeof handle === 'string') return err(`cannot read ${path}: ${handle}`)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, 0)
    if (bytesRead < 4 || buffer.toString('latin1') !== GGUF_MAGIC) {
      return err(`${path} is not a GGUF file (it does not start with "${GGUF_MAGIC}")`)
    }
    return ok({ sizeBytes: facts.size })
  } finally {
    await handle.close()
  }
}

/**
 * Reads architecture and native context from the header.
 * Errors: `slot.model_missing` when the file cannot be read or is not a GGUF; a header that cannot be parsed gives
 * `slot.config_error` with the parser's reason.
 */
export async function readGgufFacts(path: string): Promise<GgufFacts> {
  const checked = await checkGgufFile(path)
  if (!checked.ok) throw Hal0Error.of('slot.model_missing', checked.error, { details: { path } })
  let metadata: ReadonlyMap<string, unknown>
  try {
    metadata = new Map(Object.entries((await gguf(path, { allowLocalFile: true })).metadata))
  } catch (cause) {
    throw Hal0Error.of('slot.config_error', `${path} has a damaged GGUF header: ${messageOf(cause)}`, {
      details: { path },
      cause,
    })
  }
  const architecture = metadata.get('general.architecture')
  const native = typeof architecture === 'string' ? metadata.get(`${architecture}.context_length`) : undefined
  return {
    architecture: typeof architecture === 'string' ? architecture : 'unknown',
    nativeCtxTokens: typeof native === 'number' && native > 0 ? native : null,
  }
}
