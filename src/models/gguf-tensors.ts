import { type HeaderCursor, HeaderDamage, HeaderTooLong } from './header-cursor.ts'
import type { TensorTotals } from './rules/header-values.ts'
import { tensorDataBytes } from './rules/quant-names.ts'

/** The format's own limit is 64 bytes; some writers exceed it. */
const MAX_NAME_BYTES = 65_535
/** ggml has 4. */
const MAX_DIMENSIONS = 8
/** The largest models have a few thousand; who has more is not counted. */
const MAX_TENSORS = 100_000
/** Where a file does not say otherwise. */
const DEFAULT_ALIGNMENT = 32

/**
 * Walks the descriptions of `count` tensors, from the end of the keys. `alignment`: what the file says, in bytes. When they are more than
 * anyone should read, `elements` is null. Errors: HeaderDamage, also when the file ends before its tensors do.
 */
export async function readTensors(
  cursor: HeaderCursor,
  count: number,
  alignment: number | undefined,
): Promise<TensorTotals> {
  const unknown: TensorTotals = { count, elements: null, matrixElements: new Map() }
  if (count > MAX_TENSORS) return unknown
  try {
    return await walk(cursor, count, alignment)
  } catch (cause) {
    if (cause instanceof HeaderTooLong) return unknown
    throw cause
  }
}

async function walk(cursor: HeaderCursor, count: number, alignment: number | undefined): Promise<TensorTotals> {
  const matrixElements = new Map<number, number>()
  let elements = 0
  let endOffset = 0
  for (let nth = 0; nth < count; nth++) {
    const tensor = await readTensor(cursor)
    elements += tensor.elements
    if (tensor.dimensions > 1) {
      matrixElements.set(tensor.type, (matrixElements.get(tensor.type) ?? 0) + tensor.elements)
    }
    endOffset = Math.max(endOffset, tensor.offset + tensorDataBytes(tensor.type, tensor.elements))
  }
  const align = isAlignment(alignment) ? alignment : DEFAULT_ALIGNMENT
  const missingBytes = Math.ceil(cursor.at / align) * align + endOffset - (cursor.at + cursor.left)
  if (endOffset > 0 && missingBytes > 0) {
    throw new HeaderDamage(
      `describes tensors that end ${missingBytes} bytes after the end of the file: the file is cut short`,
    )
  }
  return { count, elements: Number.isSafeInteger(elements) ? elements : null, matrixElements }
}

async function readTensor(cursor: HeaderCursor) {
  if (!cursor.has(8)) await cursor.fetch(8)
  const nameBytes = cursor.takeCount()
  if (nameBytes > MAX_NAME_BYTES) throw new HeaderDamage(`has a tensor name of ${nameBytes} bytes`)
  cursor.skip(nameBytes)
  if (!cursor.has(4)) await cursor.fetch(4)
  const dimensions = cursor.takeU32()
  if (dimensions > MAX_DIMENSIONS) throw new HeaderDamage(`has a tensor of ${dimensions} dimensions`)
  const restBytes = dimensions * 8 + 12
  if (!cursor.has(restBytes)) await cursor.fetch(restBytes)
  let elements = 1
  for (let nth = 0; nth < dimensions; nth++) elements *= cursor.takeU64()
  return { dimensions, elements, type: cursor.takeU32(), offset: cursor.takeU64() }
}

function isAlignment(bytes: number | undefined): bytes is number {
  return bytes !== undefined && bytes > 0 && bytes <= 65_536 && Number.isInteger(Math.log2(bytes))
}
