/** The name of one part of a split model. */
export interface PartName {
  /** The same for all parts of one set, and for no other. */
  readonly key: string
  /** From 1. */
  readonly part: number
  readonly parts: number
  /** The name of another part of the same set. */
  nameOf(part: number): string
}

/** A name that claims more parts is no part of anything: no model has them, and each missing one would be listed. */
const MAX_PARTS = 1_000

/** Is this `name-00001-of-00004.gguf`? `name` is without folder. */
export function splitPartName(name: string): PartName | undefined {
  const match = /^(.+)-(\d{5})-of-(\d{5})(\.gguf)$/is.exec(name)
  if (match === null) return undefined
  const [, stem = '', partText = '', partsText = '', ending = ''] = match
  const part = Number(partText)
  const parts = Number(partsText)
  if (part < 1 || part > parts || parts > MAX_PARTS) return undefined
  const nameOf = (nth: number) => `${stem}-${String(nth).padStart(5, '0')}-of-${partsText}${ending}`
  return { key: nameOf(1), part, parts, nameOf }
}

/** `general.file_type` and what people put in names instead, as a word of a file name. */
const QUANT_WORD = /^(?:i?q\d+(?:_\w+)?|b?f16|f32|fp16|fp32|fp8|mxfp4(?:_moe)?|nvfp4|tq\d_0|ud|i1|imat)$/
/** Words that say what a projector is, not whose. */
const PROJECTOR_WORDS: ReadonlySet<string> = new Set(['mmproj', 'projector'])
/** Words that say nothing about which model it is. */
const EMPTY_WORDS: ReadonlySet<string> = new Set(['ggml', 'gguf', 'model', 'file'])

/** The words of a file name, lower case, without ending, part number and quantisation. */
function wordsOf(name: string): string[] {
  const stem = (
    splitPartName(name)
      ?.nameOf(1)
      .replace(/-00001-of-\d{5}\.gguf$/i, '') ?? name
  ).replace(/\.gguf$/i, '')
  const words = stem.toLowerCase().split(/[-. ]+/)
  // Some names join the quantisation with underscores only: `model_q8_0`.
  return words.flatMap((word) => (QUANT_WORD.test(word) ? [] : word.split('_'))).filter((word) => word !== '')
}

/** The model's name without quantisation, as words; empty = the name tells nothing (`ggml-model-f16.gguf`). */
export function modelWords(name: string): readonly string[] {
  return wordsOf(name).filter((word) => !EMPTY_WORDS.has(word))
}

/** Whose projector does the name say it is? Empty = it does not say (`mmproj-F16.gguf`). */
export function projectorOwnerWords(name: string): readonly string[] {
  const words = wordsOf(name)
  return words.filter((word) => !PROJECTOR_WORDS.has(word) && !EMPTY_WORDS.has(word))
}

/** Does the name say that this is a projector? */
export function isProjectorName(name: string): boolean {
  return wordsOf(name).some((word) => PROJECTOR_WORDS.has(word))
}

/**
 * Whose drafter do these words of a name say it is? `NAME-draft-0.6B` → NAME, `draft-NAME` → NAME. Undefined = they have no mark of a
 * drafter.
 */
export function drafterOwnerWords(words: readonly string[]): readonly string[] | undefined {
  const at = words.findIndex((word) => word === 'draft' || word === 'drafter')
  if (at === -1) return undefined
  return at === 0 ? words.slice(1) : words.slice(0, at)
}

export const sameWords = (left: readonly string[], right: readonly string[]): boolean =>
  left.length === right.length && left.every((word, nth) => word === right[nth])

/** Does `long` begin with all of `short`? Nothing begins with nothing. */
export const isStartOf = (short: readonly string[], long: readonly string[]): boolean =>
  short.length > 0 && short.every((word, nth) => word === long[nth])

/** Could these be names of the same family? `qwen2vl` and `qwen2-vl` are; names that tell nothing contradict nobody. */
export function areRelated(left: readonly string[], right: readonly string[]): boolean {
  if (left.length === 0 || right.length === 0) return true
  const join = (words: readonly string[]) => words.join('')
  const [one, other] = [join(left), join(right)]
  return (
    one.includes(other) ||
    other.includes(one) ||
    left.some((word) => /[a-z]{3}/.test(word) && isTelling(word) && right.includes(word))
  )
}

/** Words that models of every family have. */
const COMMON_WORDS: ReadonlySet<string> = new Set([
  'instruct',
  'chat',
  'base',
  'vision',
  'thinking',
  'omni',
  'mini',
  'small',
  'large',
  'preview',
])
const isTelling = (word: string) => !COMMON_WORDS.has(word)
