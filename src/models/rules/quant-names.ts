/** Names of llama.cpp's file types (`general.file_type`). Withdrawn numbers are left out. */
const FILE_TYPES: Readonly<Record<number, string>> = {
  0: 'F32',
  1: 'F16',
  2: 'Q4_0',
  3: 'Q4_1',
  7: 'Q8_0',
  8: 'Q5_0',
  9: 'Q5_1',
  10: 'Q2_K',
  11: 'Q3_K_S',
  12: 'Q3_K_M',
  13: 'Q3_K_L',
  14: 'Q4_K_S',
  15: 'Q4_K_M',
  16: 'Q5_K_S',
  17: 'Q5_K_M',
  18: 'Q6_K',
  19: 'IQ2_XXS',
  20: 'IQ2_XS',
  21: 'Q2_K_S',
  22: 'IQ3_XS',
  23: 'IQ3_XXS',
  24: 'IQ1_S',
  25: 'IQ4_NL',
  26: 'IQ3_S',
  27: 'IQ3_M',
  28: 'IQ2_S',
  29: 'IQ2_M',
  30: 'IQ4_XS',
  31: 'IQ1_M',
  32: 'BF16',
  36: 'TQ1_0',
  37: 'TQ2_0',
  38: 'MXFP4_MOE',
  39: 'NVFP4',
  40: 'Q1_0',
  41: 'Q2_0',
}
/** llama.cpp adds this bit when it guessed the type. */
const GUESSED = 1024

interface TensorType {
  readonly name: string
  /** Elements that are stored together, and the bytes they take. */
  readonly blockElements: number
  readonly blockBytes: number
}
const tensorType = (name: string, blockElements: number, blockBytes: number): TensorType => ({
  name,
  blockElements,
  blockBytes,
})
/** ggml's tensor types by their number in the file. Sizes are given where they have been stable since the type exists. */
const TENSOR_TYPES: Readonly<Record<number, TensorType>> = {
  0: tensorType('F32', 1, 4),
  1: tensorType('F16', 1, 2),
  2: tensorType('Q4_0', 32, 18),
  3: tensorType('Q4_1', 32, 20),
  6: tensorType('Q5_0', 32, 22),
  7: tensorType('Q5_1', 32, 24),
  8: tensorType('Q8_0', 32, 34),
  10: tensorType('Q2_K', 256, 84),
  11: tensorType('Q3_K', 256, 110),
  12: tensorType('Q4_K', 256, 144),
  13: tensorType('Q5_K', 256, 176),
  14: tensorType('Q6_K', 256, 210),
  16: tensorType('IQ2_XXS', 256, 66),
  17: tensorType('IQ2_XS', 256, 74),
  18: tensorType('IQ3_XXS', 256, 98),
  19: tensorType('IQ1_S', 256, 50),
  20: tensorType('IQ4_NL', 32, 18),
  21: tensorType('IQ3_S', 256, 110),
  22: tensorType('IQ2_S', 256, 82),
  23: tensorType('IQ4_XS', 256, 136),
  29: tensorType('IQ1_M', 256, 56),
  30: tensorType('BF16', 1, 2),
  34: tensorType('TQ1_0', 256, 54),
  35: tensorType('TQ2_0', 256, 66),
  39: tensorType('MXFP4', 32, 17),
}

/** What is a file of this `general.file_type` called, for example `Q4_K_M`? Null = a number hal0 does not know. */
export function nameFileType(fileType: number): string | null {
  return FILE_TYPES[fileType >= GUESSED ? fileType - GUESSED : fileType] ?? null
}

/** The type that most elements of the matrices have, for example `Q4_K`; null = none that hal0 knows. For files that name no file type. */
export function nameMainType(matrixElements: ReadonlyMap<number, number>): string | null {
  let main: number | undefined
  for (const [type, elements] of matrixElements) {
    if (main === undefined || elements > (matrixElements.get(main) ?? 0)) main = type
  }
  return main === undefined ? null : (TENSOR_TYPES[main]?.name ?? null)
}

/** Bytes that a tensor takes; 0 = at least nothing, because its type is unknown. */
export function tensorDataBytes(type: number, elements: number): number {
  const known = TENSOR_TYPES[type]
  return known === undefined ? 0 : Math.floor(elements / known.blockElements) * known.blockBytes
}
