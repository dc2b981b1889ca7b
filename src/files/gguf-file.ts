import { constants, type FileHandle, open, stat } from 'node:fs/promises'
import { errnoOf, messageOf } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'

/** First four bytes of every GGUF file. */
export const GGUF_MAGIC = 'GGUF'

/** Why a path is no model file in GGUF format. `begins`: what stands there instead of the magic, at most four characters. */
export type GgufRefusal =
  | { readonly kind: 'missing' }
  | { readonly kind: 'folder' }
  | { readonly kind: 'not_regular' }
  | { readonly kind: 'unreadable'; readonly errno: string | undefined; readonly reason: string }
  | { readonly kind: 'not_gguf'; readonly begins: string }

/**
 * Opens a regular file that starts like a GGUF; the caller closes it. Never waits for anyone: a pipe or a device is refused, not
 * opened. Never rejects.
 */
export async function openGgufFile(path: string): Promise<Result<FileHandle, GgufRefusal>> {
  let handle: FileHandle | undefined
  try {
    const before = refusalOf(await stat(path))
    if (before !== undefined) return err(before)
    // The path may have become a pipe since: with O_NONBLOCK not even that one can hold us up.
    handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const refusal = refusalOf(await handle.stat()) ?? (await magicRefusal(handle))
    if (refusal === undefined) return ok(handle)
    await handle.close()
    return err(refusal)
  } catch (cause) {
    await handle?.close().catch(() => undefined)
    const errno = errnoOf(cause)
    if (errno === 'ENOENT' || errno === 'ENOTDIR') return err({ kind: 'missing' })
    return err({ kind: 'unreadable', errno, reason: messageOf(cause) })
  }
}

/** Why is this no GGUF file? Undefined = it starts like one. Never rejects. */
export async function checkGgufFile(path: string): Promise<GgufRefusal | undefined> {
  const opened = await openGgufFile(path)
  if (!opened.ok) return opened.error
  await opened.value.close()
  return undefined
}

/** The refusal as one clause that names the path. */
export function describeGgufRefusal(path: string, refusal: GgufRefusal): string {
  switch (refusal.kind) {
    case 'missing':
      return `there is no file ${path}`
    case 'folder':
      return `${path} is a folder`
    case 'not_regular':
      return `${path} is not a regular file`
    case 'unreadable':
      return `${path} cannot be read: ${refusal.reason}`
    case 'not_gguf':
      return `${path} is not a GGUF file: it does not start with "${GGUF_MAGIC}"`
  }
}

function refusalOf(facts: Awaited<ReturnType<typeof stat>>): GgufRefusal | undefined {
  if (facts.isFile()) return undefined
  return { kind: facts.isDirectory() ? 'folder' : 'not_regular' }
}

async function magicRefusal(handle: FileHandle): Promise<GgufRefusal | undefined> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(GGUF_MAGIC.length), 0, GGUF_MAGIC.length, 0)
  const begins = buffer.toString('latin1', 0, bytesRead)
  return begins === GGUF_MAGIC ? undefined : { kind: 'not_gguf', begins }
}
