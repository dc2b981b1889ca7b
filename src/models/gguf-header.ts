import type { FileHandle } from 'node:fs/promises'
import { GGUF_MAGIC } from '../files/gguf-file.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { HeaderCursor, HeaderDamage } from './header-cursor.ts'

/** What hal0 reads from a GGUF header today. */
export interface GgufHeader {
  /** The window the model was trained with, in tokens; null = the file does not say. */
  readonly nativeCtxTokens: number | null
  /** Reads it took, for those who must keep that bounded. */
  readonly reads: number
}

/** Versions with this layout. 1 had shorter counts and has not been written since August 2023. */
const VERSIONS: readonly number[] = [2, 3]

/** The format's own limit is 65,535 bytes. */
const MAX_KEY_BYTES = 65_535
/** Keys and strings that matter here are shorter; longer ones are passed over. */
const MAX_KEPT_BYTES = 256
/** Arrays of arrays exist in the format, not in models. */
const MAX_NESTING = 4
/** One window per architecture named in the file, kept until the architecture is known. A model names one or two. */
const MAX_WINDOWS = 16

const ARCHITECTURE_KEY = 'general.architecture'
const WINDOW_SUFFIX = '.context_length'

/** Value types by their number in the file. Source: the GGUF specification, `gguf_metadata_value_type`. */
const UINT32 = 4
const INT32 = 5
const STRING = 8
const ARRAY = 9
const UINT64 = 10
const INT64 = 11
/** Bytes of a value of fixed size: uint8, int8, uint16, int16, uint32, int32, float32, bool, …, uint64, int64, float64. */
const FIXED_BYTES: ReadonlyMap<number, number> = new Map([
  [0, 1],
  [1, 1],
  [2, 2],
  [3, 2],
  [UINT32, 4],
  [INT32, 4],
  [6, 4],
  [7, 1],
  [UINT64, 8],
  [INT64, 8],
  [12, 8],
])

/**
 * Which context window does this file name? Walks the keys in order and stops as soon as it knows; arrays (the vocabulary) are passed over.
 * Bounded in time, reads and memory whatever the file says. `handle` is a regular file that starts with the magic. The error completes
 * "the header …". Rejects only when the disk does.
 */
export async function readGgufHeader(handle: FileHandle): Promise<Result<GgufHeader, string>> {
  const cursor = new HeaderCursor(handle, (await handle.stat()).size, GGUF_MAGIC.length)
  try {
    const nativeCtxTokens = await findWindow(cursor)
    return ok({ nativeCtxTokens, reads: cursor.reads })
  } catch (cause) {
    if (cause instanceof HeaderDamage) return err(cause.message)
    throw cause
  }
}

async function findWindow(cursor: HeaderCursor): Promise<number | null> {
  const keyCount = await openHeader(cursor)
  let architecture: string | undefined
  const windows = new Map<string, number>()
  for (let nth = 0; nth < keyCount; nth++) {
    const key = await readKey(cursor)
    await cursor.fetch(4)
    const type = cursor.takeU32()
    if (key === ARCHITECTURE_KEY && type === STRING) architecture ??= await readShortString(cursor)
    else if (key.endsWith(WINDOW_SUFFIX) && isInteger(type)) keepWindow(windows, key, await readInteger(cursor, type))
    else await skipValue(cursor, type, 0)
    const found = architecture === undefined ? undefined : windows.get(`${architecture}${WINDOW_SUFFIX}`)
    if (found !== undefined) return Number.isSafeInteger(found) && found > 0 ? found : null
  }
  return null
}

/** Version and counts. Answers how many keys follow. */
async function openHeader(cursor: HeaderCursor): Promise<number> {
  await cursor.fetch(20)
  const version = cursor.takeU32()
  if (!VERSIONS.includes(version)) {
    const swapped = VERSIONS.includes(version >>> 24)
    throw new HeaderDamage(
      swapped ? 'is big-endian, for another kind of machine' : `has the unknown version ${version}`,
    )
  }
  // The number of tensors: they come after the keys.
  cursor.take(8)
  return cursor.takeCount()
}

/** '' stands for one that is too long to matter. */
async function readKey(cursor: HeaderCursor): Promise<string> {
  await cursor.fetch(8)
  const bytes = cursor.takeCount()
  if (bytes > MAX_KEY_BYTES) throw new HeaderDamage(`has a key of ${bytes} bytes`)
  return readText(cursor, bytes)
}

async function readShortString(cursor: HeaderCursor): Promise<string> {
  await cursor.fetch(8)
  return readText(cursor, cursor.takeCount())
}

async function readText(cursor: HeaderCursor, bytes: number): Promise<string> {
  if (bytes > MAX_KEPT_BYTES) {
    cursor.skip(bytes)
    return ''
  }
  await cursor.fetch(bytes)
  return cursor.take(bytes).toString('utf8')
}

/** The first of two equal keys counts. */
function keepWindow(windows: Map<string, number>, key: string, tokens: number): void {
  if (windows.has(key)) return
  if (windows.size >= MAX_WINDOWS) throw new HeaderDamage(`names more than ${MAX_WINDOWS} context windows`)
  windows.set(key, tokens)
}

function isInteger(type: number): boolean {
  return type === UINT32 || type === INT32 || type === UINT64 || type === INT64
}

async function readInteger(cursor: HeaderCursor, type: number): Promise<number> {
  const bytes = FIXED_BYTES.get(type) ?? 0
  await cursor.fetch(bytes)
  const value = cursor.take(bytes)
  if (type === UINT32) return value.readUInt32LE(0)
  if (type === INT32) return value.readInt32LE(0)
  return Number(type === UINT64 ? value.readBigUInt64LE(0) : value.readBigInt64LE(0))
}

async function skipValue(cursor: HeaderCursor, type: number, depth: number): Promise<void> {
  const fixed = FIXED_BYTES.get(type)
  if (fixed !== undefined) return cursor.skip(fixed)
  if (type === STRING) return skipStrings(cursor, 1)
  if (type !== ARRAY) throw new HeaderDamage(`has a value of the unknown type ${type}`)
  if (depth === MAX_NESTING) throw new HeaderDamage(`nests arrays more than ${MAX_NESTING} deep`)
  await cursor.fetch(12)
  const elementType = cursor.takeU32()
  const count = cursor.takeCount()
  const elementBytes = FIXED_BYTES.get(elementType)
  if (elementBytes !== undefined) return cursor.skip(count * elementBytes)
  if (elementType === STRING) return skipStrings(cursor, count)
  for (let nth = 0; nth < count; nth++) await skipValue(cursor, elementType, depth + 1)
}

/** A vocabulary is here: no promise per string, only one per chunk. */
async function skipStrings(cursor: HeaderCursor, count: number): Promise<void> {
  for (let nth = 0; nth < count; nth++) {
    if (!cursor.has(8)) await cursor.fetch(8)
    cursor.skip(cursor.takeCount())
  }
}
