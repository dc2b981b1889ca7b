import { describeGgufRefusal, openGgufFile } from '../files/gguf-file.ts'
import { Hal0Error, messageOf } from '../kernel/errors.ts'
import { type GgufHeader, readGgufHeader } from './gguf-header.ts'

/**
 * Reads what a launch needs to know from the header of a model file.
 * Errors: `slot.model_missing` when there is no regular file, or none that starts like a GGUF; `slot.config_error` when its header is damaged.
 */
export async function readGgufFacts(path: string): Promise<GgufHeader> {
  const opened = await openGgufFile(path)
  if (!opened.ok) {
    throw Hal0Error.of('slot.model_missing', describeGgufRefusal(path, opened.error), { details: { path } })
  }
  const handle = opened.value
  try {
    const header = await readGgufHeader(handle)
    if (header.ok) return header.value
    const remedy = 'Fetch the model file again and compare its size and checksum, or bind another model.'
    throw Hal0Error.of('slot.config_error', `${path} has a damaged GGUF header: it ${header.error}`, {
      details: { path, remedy },
    })
  } catch (cause) {
    if (cause instanceof Hal0Error) throw cause
    throw Hal0Error.of('slot.model_missing', `${path} cannot be read: ${messageOf(cause)}`, {
      details: { path },
      cause,
    })
  } finally {
    await handle.close()
  }
}
