import type { FileHandle } from 'node:fs/promises'
import { GGUF_MAGIC } from '../files/gguf-file.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { readTensors } from './gguf-tensors.ts'
import { readShortText, readValue, skipValue } from './gguf-values.ts'
import { HeaderCursor, HeaderDamage } from './header-cursor.ts'
import { type HeaderContent, type HeaderValue, isWantedKey } from './rules/header-values.ts'

/** A header, and what reading it cost, for those who must keep that bounded. */
export interface GgufHeader extends HeaderContent {
  readonly reads: number
  readonly readBytes: number
}

/** Versions with this layout. 1 had shorter counts and has not been written since August 2023. */
const VERSIONS: readonly number[] = [2, 3]
/** The format's own limit. */
const MAX_KEY_BYTES = 65_535
/** A model has about 40 keys. */
const MAX_KEYS = 10_000
/** Keys that are kept because their architecture may still come. A model names one or two architectures. */
const MAX_KEPT_KEYS = 256

/**
 * What does this file say about itself? Walks keys and descriptions of tensors in order; arrays (the vocabulary) are passed over.
 * Bounded in time, reads and memory whatever the file says. `handle` is a regular file that starts with the magic. The error completes
 * "the header …". Rejects only when the disk does.
 */
export async function readGgufHeader(handle: FileHandle): Promise<Result<GgufHeader, string>> {
  const sizeBytes = (await handle.stat()).size
  const cursor = new HeaderCursor(handle, sizeBytes, GGUF_MAGIC.length)
  try {
    const counts = await openHeader(cursor)
    const values = await readKeys(cursor, counts.keys)
    const alignment = values.get('general.alignment')
    const tensors = await readTensors(
      cursor,
      counts.tensors,
      alignment?.kind === 'number' ? alignment.value : undefined,
    )
    return ok({ values, tensors, sizeBytes, reads: cursor.reads, readBytes: cursor.readBytes })
  } catch (cause) {
    if (cause instanceof HeaderDamage) return err(cause.message)
    throw cause
  }
}

async function openHeader(cursor: HeaderCursor): Promise<{ readonly tensors: number; readonly keys: number }> {
  await cursor.fetch(20)
  const version = cursor.takeU32()
  if (!VERSIONS.includes(version)) {
    const swapped = VERSIONS.includes(version >>> 24)
    throw new HeaderDamage(
      swapped ? 'is big-endian, for another kind of machine' : `has the unknown version ${version}`,
    )
  }
  const tensors = cursor.takeCount()
  const keys = cursor.takeCount()
  if (keys > MAX_KEYS) throw new HeaderDamage(`counts ${keys} keys, more than the ${MAX_KEYS} that hal0 reads`)
  return { tensors, keys }
}

/** The first of two equal keys counts. */
async function readKeys(cursor: HeaderCursor, count: number): Promise<ReadonlyMap<string, HeaderValue>> {
  const values = new Map<string, HeaderValue>()
  for (let nth = 0; nth < count; nth++) {
    const key = await readShortText(cursor, MAX_KEY_BYTES)
    await cursor.fetch(4)
    const type = cursor.takeU32()
    if (!isWantedKey(key) || values.has(key)) {
      await skipValue(cursor, type)
      continue
    }
    if (values.size === MAX_KEPT_KEYS) throw new HeaderDamage(`names more than ${MAX_KEPT_KEYS} facts`)
    const value = await readValue(cursor, type)
    if (value !== undefined) values.set(key, value)
  }
  return values
}
