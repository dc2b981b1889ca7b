import { type HeaderCursor, HeaderDamage } from './header-cursor.ts'
import type { HeaderValue } from './rules/header-values.ts'

/** Keys and strings that matter are shorter; longer ones are passed over. */
const MAX_KEPT_BYTES = 256
/** Elements of an array that are kept: one per layer of a model. */
const MAX_KEPT_ITEMS = 1_024
/** Arrays of arrays exist in the format, not in models. */
const MAX_NESTING = 4
const MAX_NESTED_ARRAYS = 10_000

/** Value types by their number in the file. Source: the GGUF specification, `gguf_metadata_value_type`. */
const STRING = 8
const ARRAY = 9

/** Types of fixed size: their bytes, and how a whole number is read from them; floats are only passed over. */
interface FixedType {
  readonly bytes: number
  readonly read?: (from: Buffer) => number
}
const FIXED_TYPES: ReadonlyMap<number, FixedType> = new Map<number, FixedType>([
  [0, { bytes: 1, read: (from) => from.readUInt8(0) }],
  [1, { bytes: 1, read: (from) => from.readInt8(0) }],
  [2, { bytes: 2, read: (from) => from.readUInt16LE(0) }],
  [3, { bytes: 2, read: (from) => from.readInt16LE(0) }],
  [4, { bytes: 4, read: (from) => from.readUInt32LE(0) }],
  [5, { bytes: 4, read: (from) => from.readInt32LE(0) }],
  [6, { bytes: 4 }],
  [7, { bytes: 1, read: (from) => (from.readUInt8(0) === 0 ? 0 : 1) }],
  [10, { bytes: 8, read: (from) => Number(from.readBigUInt64LE(0)) }],
  [11, { bytes: 8, read: (from) => Number(from.readBigInt64LE(0)) }],
  [12, { bytes: 8 }],
])

/** A string of which the length was not read yet; '' stands for one that is too long to matter. */
export async function readShortText(cursor: HeaderCursor, maxBytes?: number): Promise<string> {
  const value = await readText(cursor, maxBytes)
  return value.text ?? ''
}

/** The value behind the cursor, as far as it is kept; undefined = of a type that says nothing here. Errors: HeaderDamage. */
export async function readValue(cursor: HeaderCursor, type: number): Promise<HeaderValue | undefined> {
  if (type === STRING) return readText(cursor)
  if (type === ARRAY) return readList(cursor)
  const fixed = fixedType(type)
  if (fixed.read === undefined) {
    cursor.skip(fixed.bytes)
    return undefined
  }
  await cursor.fetch(fixed.bytes)
  return { kind: 'number', value: fixed.read(cursor.take(fixed.bytes)) }
}

/** Passes over the value behind the cursor. Errors: HeaderDamage. */
export async function skipValue(cursor: HeaderCursor, type: number): Promise<void> {
  if (type === STRING) return skipStrings(cursor, 1)
  if (type === ARRAY) return skipArray(cursor, { arrays: 0 }, 0)
  cursor.skip(fixedType(type).bytes)
}

async function readText(cursor: HeaderCursor, maxBytes = Number.POSITIVE_INFINITY) {
  await cursor.fetch(8)
  const sizeBytes = cursor.takeCount()
  if (sizeBytes > maxBytes) throw new HeaderDamage(`has a key of ${sizeBytes} bytes`)
  if (sizeBytes > MAX_KEPT_BYTES) {
    cursor.skip(sizeBytes)
    return { kind: 'text', text: undefined, sizeBytes } as const
  }
  await cursor.fetch(sizeBytes)
  return { kind: 'text', text: cursor.take(sizeBytes).toString('utf8'), sizeBytes } as const
}

async function readList(cursor: HeaderCursor): Promise<HeaderValue> {
  const { elementType, count } = await openArray(cursor)
  const fixed = FIXED_TYPES.get(elementType)
  if (fixed?.read === undefined || count > MAX_KEPT_ITEMS) {
    await skipElements(cursor, elementType, count, { arrays: 0 }, 0)
    return { kind: 'list', count, numbers: undefined }
  }
  await cursor.fetch(count * fixed.bytes)
  const numbers: number[] = []
  for (let nth = 0; nth < count; nth++) numbers.push(fixed.read(cursor.take(fixed.bytes)))
  return { kind: 'list', count, numbers }
}

async function openArray(cursor: HeaderCursor): Promise<{ readonly elementType: number; readonly count: number }> {
  await cursor.fetch(12)
  return { elementType: cursor.takeU32(), count: cursor.takeCount() }
}

async function skipArray(cursor: HeaderCursor, seen: { arrays: number }, depth: number): Promise<void> {
  if (depth === MAX_NESTING) throw new HeaderDamage(`nests arrays more than ${MAX_NESTING} deep`)
  if (++seen.arrays > MAX_NESTED_ARRAYS) throw new HeaderDamage(`nests more than ${MAX_NESTED_ARRAYS} arrays`)
  const { elementType, count } = await openArray(cursor)
  await skipElements(cursor, elementType, count, seen, depth)
}

async function skipElements(
  cursor: HeaderCursor,
  elementType: number,
  count: number,
  seen: { arrays: number },
  depth: number,
): Promise<void> {
  if (elementType === STRING) return skipStrings(cursor, count)
  if (elementType !== ARRAY) return cursor.skip(count * fixedType(elementType).bytes)
  for (let nth = 0; nth < count; nth++) await skipArray(cursor, seen, depth + 1)
}

/** A vocabulary is here: no promise per string, only one per chunk. */
async function skipStrings(cursor: HeaderCursor, count: number): Promise<void> {
  for (let nth = 0; nth < count; nth++) {
    if (!cursor.has(8)) await cursor.fetch(8)
    cursor.skip(cursor.takeCount())
  }
}

function fixedType(type: number): FixedType {
  const fixed = FIXED_TYPES.get(type)
  if (fixed === undefined) throw new HeaderDamage(`has a value of the unknown type ${type}`)
  return fixed
}
