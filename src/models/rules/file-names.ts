/** The last part of a path in a repository. */
export function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** The folder of a path in a repository; '' = the top. */
export function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')))
}

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

/** Is this `name-00001-of-00004.gguf`? A folder before it counts as part of the name. */
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

/** `general.file_type` and what people put in names instead, without what stands before and behind. */
const QUANT = String.raw`(?:i?q\d+(?:_[a-z0-9]+)*|tq\d_\d|(?:mx|nv)fp4(?:_moe)?|b?f16|f32|fp16|fp32|fp8)`
/** Some names join it with underscores only: `model_q8_0`. A dynamic one has a mark before it. */
const QUANT_IN_TEXT = new RegExp(`(?<=^|[-._ ])((?:ud-)?${QUANT})(?=[-. ]|$)`, 'gi')
/** What else tells how a file was made, as a word of its name. */
const MAKING_WORDS: ReadonlySet<string> = new Set(['ud', 'i1', 'imat'])
/** Another name for the same. */
const SAME_QUANT: ReadonlyMap<string, string> = new Map([
  ['FP16', 'F16'],
  ['FP32', 'F32'],
])

/** Which quantisation does a file's name tell (upper case, for example `Q4_K_M`)? The last word counts. Null = none. */
export function quantOf(path: string): string | null {
  // The folder speaks when the file does not: `Q4_K_M/model-00001-of-00003.gguf`.
  for (const text of [baseName(path), ...folderOf(path).split('/').toReversed()]) {
    const last = [...text.matchAll(QUANT_IN_TEXT)].at(-1)?.[1]?.toUpperCase()
    if (last !== undefined) return SAME_QUANT.get(last) ?? last
  }
  return null
}

/** Does a path tell this quantisation, as a word of its own? `Q4_K` is not in `Q4_K_M`; `UD-Q4_K_XL` is also a `Q4_K_XL`. */
export function hasQuant(path: string, quant: string): boolean {
  const word = quant.replaceAll(/[^A-Za-z0-9]/g, (sign) => `\\${sign}`)
  const pattern = new RegExp(`(?:^|[-._/])${word}(?=[-./]|$)`, 'i')
  return pattern.test(baseName(path)) || pattern.test(`${folderOf(path)}/`) || quantOf(path) === quant.toUpperCase()
}

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
  const words = stem
    .replaceAll(QUANT_IN_TEXT, '')
    .toLowerCase()
    .split(/[-. _]+/)
  return words.filter((word) => word !== '' && !MAKING_WORDS.has(word))
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

/** Those of `names` that look most like `wanted`, best first: those that share the most words. At most `limit`. */
export function selectNearNames(wanted: string, names: readonly string[], limit: number): readonly string[] {
  const lettersOf = (name: string) => name.toLowerCase().split(/[^a-z0-9]+/)
  const wantedWords = lettersOf(wanted)
  const score = (name: string): number =>
    [...new Set(lettersOf(name))].filter((word) => wantedWords.includes(word)).length
  return names.toSorted((a, b) => score(b) - score(a) || (a < b ? -1 : 1)).slice(0, limit)
}
