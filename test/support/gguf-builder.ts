import { open, writeFile } from 'node:fs/promises'

/** Numbers of the value types in a GGUF file. Source: the GGUF specification, `gguf_metadata_value_type`. */
export const GGUF_TYPE = {
  uint8: 0,
  int8: 1,
  uint16: 2,
  int16: 3,
  uint32: 4,
  int32: 5,
  float32: 6,
  bool: 7,
  string: 8,
  array: 9,
  uint64: 10,
  int64: 11,
  float64: 12,
} as const
export type GgufTypeName = keyof typeof GGUF_TYPE

/**
 * A value with its type; plain ones are written as: text → string, whole number → uint32, boolean → bool, lists → arrays of the type of
 * their first element (an empty one: of strings).
 */
export type GgufValue =
  | string
  | number
  | boolean
  | readonly string[]
  | readonly number[]
  | readonly boolean[]
  | { readonly type: GgufTypeName; readonly value: number | bigint }
  | { readonly type: GgufTypeName; readonly items: readonly (number | bigint)[] }
  /** Type number and bytes as they are, for damage. */
  | { readonly raw: Buffer; readonly typeNumber: number }

export interface GgufTensor {
  readonly name: string
  /** Elements per dimension. */
  readonly shape: readonly number[]
  /** Number of the ggml type; default 0 (F32). Sizes are known for F32, F16, BF16 and Q8_0; else 4 bytes per element are left free. */
  readonly type?: number
}

export interface GgufOptions {
  /** Default `llama`; null = the file does not say. */
  readonly architecture?: string | null
  /** In this order, after the architecture. */
  readonly keys?: Readonly<Record<string, GgufValue>>
  /** Default: one tensor of 32 elements. */
  readonly tensors?: readonly GgufTensor[]
  /** Default 3. */
  readonly version?: number
}

const ALIGNMENT = 32

export const ggufU32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
export const ggufU64 = (value: number | bigint): Buffer => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}
/** A string as it stands in the file: length, then bytes. */
export const ggufText = (value: string): Buffer =>
  Buffer.concat([ggufU64(Buffer.byteLength(value)), Buffer.from(value)])

/** One key with its value, as it stands in the file. */
export function ggufEntry(key: string, value: GgufValue): Buffer {
  const { typeNumber, raw } = encodeValue(value)
  return Buffer.concat([ggufText(key), ggufU32(typeNumber), raw])
}

/** What comes before the tensors' data: header, keys, descriptions of the tensors, padding. */
export function buildGgufHead(options: GgufOptions = {}): Buffer {
  const { architecture = 'llama', tensors = [{ name: 'token_embd.weight', shape: [32] }] } = options
  const entries = Object.entries(options.keys ?? {}).map(([key, value]) => ggufEntry(key, value))
  if (architecture !== null) entries.unshift(ggufEntry('general.architecture', architecture))
  let offset = 0
  const infos = tensors.map((tensor) => {
    const info = Buffer.concat([
      ggufText(tensor.name),
      ggufU32(tensor.shape.length),
      ...tensor.shape.map((elements) => ggufU64(elements)),
      ggufU32(tensor.type ?? 0),
      ggufU64(offset),
    ])
    offset += aligned(tensorBytes(tensor))
    return info
  })
  const head = Buffer.concat([
    Buffer.from('GGUF'),
    ggufU32(options.version ?? 3),
    ggufU64(tensors.length),
    ggufU64(entries.length),
    ...entries,
    ...infos,
  ])
  return Buffer.concat([head, Buffer.alloc(aligned(head.length) - head.length)])
}

/** A whole small GGUF file; the tensors hold zeros. */
export function buildGguf(options: GgufOptions = {}): Buffer {
  return Buffer.concat([buildGgufHead(options), Buffer.alloc(dataBytes(options))])
}

/** Writes a GGUF file of any size: the tensors are a hole, so that gigabytes take no room. `sizeBytes`: at least; the rest is a hole too. */
export async function writeGguf(
  path: string,
  options: GgufOptions = {},
  sizeBytes = 0,
): Promise<{ readonly path: string; readonly sizeBytes: number }> {
  const head = buildGgufHead(options)
  const size = Math.max(sizeBytes, head.length + dataBytes(options))
  await writeFile(path, head)
  const handle = await open(path, 'r+')
  try {
    await handle.truncate(size)
  } finally {
    await handle.close()
  }
  return { path, sizeBytes: size }
}

function dataBytes(options: GgufOptions): number {
  const tensors = options.tensors ?? [{ name: 'token_embd.weight', shape: [32] }]
  return tensors.reduce((sum, tensor) => sum + aligned(tensorBytes(tensor)), 0)
}

function tensorBytes({ shape, type = 0 }: GgufTensor): number {
  const elements = shape.reduce((product, factor) => product * factor, 1)
  if (type === 1 || type === 30) return elements * 2
  return type === 8 ? (elements / 32) * 34 : elements * 4
}

const aligned = (bytes: number) => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT

function encodeValue(value: GgufValue): { typeNumber: number; raw: Buffer } {
  if (typeof value === 'string') return { typeNumber: GGUF_TYPE.string, raw: ggufText(value) }
  if (typeof value === 'number') return { typeNumber: GGUF_TYPE.uint32, raw: ggufU32(value) }
  if (typeof value === 'boolean') return { typeNumber: GGUF_TYPE.bool, raw: Buffer.from([Number(value)]) }
  if ('raw' in value) return value
  if ('items' in value) return encodeArray(value.type, value.items)
  if ('value' in value) return { typeNumber: GGUF_TYPE[value.type], raw: encodeNumber(value.type, value.value) }
  const texts = value.filter((item) => typeof item === 'string')
  if (texts.length === value.length) {
    const head = [ggufU32(GGUF_TYPE.string), ggufU64(texts.length)]
    return { typeNumber: GGUF_TYPE.array, raw: Buffer.concat([...head, ...texts.map(ggufText)]) }
  }
  return encodeArray(typeof value[0] === 'boolean' ? 'bool' : 'uint32', value.map(Number))
}

function encodeArray(type: GgufTypeName, items: readonly (number | bigint)[]) {
  const head = [ggufU32(GGUF_TYPE[type]), ggufU64(items.length)]
  return {
    typeNumber: GGUF_TYPE.array,
    raw: Buffer.concat([...head, ...items.map((item) => encodeNumber(type, item))]),
  }
}

function encodeNumber(type: GgufTypeName, value: number | bigint): Buffer {
  const bytes = Buffer.alloc(8)
  switch (type) {
    case 'uint8':
    case 'int8':
    case 'bool':
      bytes.writeInt8((Number(value) << 24) >> 24)
      return bytes.subarray(0, 1)
    case 'uint16':
    case 'int16':
      bytes.writeInt16LE((Number(value) << 16) >> 16)
      return bytes.subarray(0, 2)
    case 'uint32':
    case 'int32':
      bytes.writeInt32LE(Number(value) | 0)
      return bytes.subarray(0, 4)
    case 'float32':
      bytes.writeFloatLE(Number(value))
      return bytes.subarray(0, 4)
    case 'float64':
      bytes.writeDoubleLE(Number(value))
      return bytes
    case 'uint64':
    case 'int64':
      bytes.writeBigInt64LE(BigInt.asIntN(64, BigInt(value)))
      return bytes
    case 'string':
    case 'array':
      throw new Error(`${type} is no number`)
  }
}
