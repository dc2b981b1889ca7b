import type { GgufFacts } from '../../contract/model.ts'
import { ARCHITECTURE_PATTERN, type ArchitectureKey, type HeaderContent, type HeaderValue } from './header-values.ts'
import { resolveKvGeometry } from './kv-geometry.ts'
import { nameFileType, nameMainType } from './quant-names.ts'

/** What decides which files belong together, beside the facts. Null = the file does not say. */
export interface PairingFacts {
  /** The kind of tokenizer, for example `gpt2`. */
  readonly tokenizer: string | null
  /** Elements of one embedding that a projector gives. Only files with a `general.type` mean the language model's by it. */
  readonly projectionLength: number | null
  /** What the file itself says; null = `parameters` was added up from the tensors of this one file. */
  readonly statedParameters: number | null
  /** Elements of all tensors of this one file, 0 without any; null = too many to count. */
  readonly elements: number | null
}

export interface ResolvedFacts {
  readonly facts: GgufFacts
  readonly pairing: PairingFacts
}

/** Reads one key of a header. Undefined = absent, or of a type that it should not have. */
export interface HeaderReader {
  text(key: string): string | undefined
  /** A whole number ≥ 0 that JavaScript can hold. */
  whole(key: string): number | undefined
  /** One number, or one per layer. */
  wholes(key: string): number | number[] | undefined
  /** How many elements the array has. */
  count(key: string): number | undefined
}

const POOLINGS = ['none', 'mean', 'cls', 'last', 'rank'] as const
/** Marks of projectors, adapters and importance matrices from before `general.type`. */
const PROJECTOR_ARCHITECTURE = 'clip'
const CONTROL_VECTOR_ARCHITECTURE = 'controlvector'

/** What do the keys of a header say? A key with a value of the wrong type counts as absent. Source: SPEC 3 "model". */
export function resolveFacts(content: HeaderContent): ResolvedFacts {
  const read = readerOf(content.values)
  const named = read.text('general.architecture')
  const architecture = named !== undefined && ARCHITECTURE_PATTERN.test(named) ? named : null
  const own = (key: ArchitectureKey) => `${architecture ?? ''}.${key}`
  const split = resolveSplit(read)
  const stated = read.whole('general.parameter_count')
  const statedParameters = stated === undefined || stated === 0 ? null : stated
  const { count, elements, matrixElements } = content.tensors
  const fileType = read.whole('general.file_type')
  const template = content.values.get('tokenizer.chat_template')
  const facts: GgufFacts = {
    kind: resolveKind(read, content, architecture, split),
    name: cleanText(read.text('general.name')),
    architecture,
    native_ctx: read.whole(own('context_length')) || null,
    quant: (fileType === undefined ? null : nameFileType(fileType)) ?? nameMainType(matrixElements),
    parameters: statedParameters ?? (count === 0 ? null : elements),
    has_chat_template: template?.kind === 'text' && template.sizeBytes > 0,
    mtp_layers: read.whole(own('nextn_predict_layers')) ?? 0,
    pooling: POOLINGS[read.whole(own('pooling_type')) ?? POOLINGS.length] ?? null,
    split,
    license: cleanText(read.text('general.license')),
    size_bytes: content.sizeBytes,
    kv: resolveKvGeometry(read, own),
  }
  return {
    facts,
    pairing: {
      tokenizer: read.text('tokenizer.ggml.model') ?? null,
      projectionLength: projection(read),
      statedParameters,
      elements,
    },
  }
}

function readerOf(values: ReadonlyMap<string, HeaderValue>): HeaderReader {
  const number = (key: string) => {
    const value = values.get(key)
    return value?.kind === 'number' ? value.value : undefined
  }
  const whole = (value: number | undefined) => (value !== undefined && isWhole(value) ? value : undefined)
  const list = (key: string) => {
    const value = values.get(key)
    return value?.kind === 'list' ? value : undefined
  }
  return {
    text: (key) => {
      const value = values.get(key)
      return value?.kind === 'text' ? value.text : undefined
    },
    whole: (key) => whole(number(key)),
    wholes: (key) => {
      const numbers = list(key)?.numbers
      return numbers === undefined || numbers.length === 0 || !numbers.every(isWhole)
        ? whole(number(key))
        : [...numbers]
    },
    count: (key) => list(key)?.count,
  }
}

const isWhole = (value: number) => Number.isSafeInteger(value) && value >= 0

/** Files with one part count as not split. `split.no` counts from 0. */
function resolveSplit(read: HeaderReader): GgufFacts['split'] {
  const index = read.whole('split.no')
  const parts = read.whole('split.count')
  return index === undefined || parts === undefined || parts < 2 || index >= parts ? null : { part: index + 1, parts }
}

function resolveKind(
  read: HeaderReader,
  content: HeaderContent,
  architecture: string | null,
  split: GgufFacts['split'],
): GgufFacts['kind'] {
  const type = read.text('general.type')
  if (type === 'mmproj' || architecture === PROJECTOR_ARCHITECTURE) return 'mmproj'
  if (type === 'adapter' || content.values.has('adapter.type') || architecture === CONTROL_VECTOR_ARCHITECTURE) {
    return 'adapter'
  }
  if (type === 'imatrix' || content.values.has('imatrix.chunk_count')) return 'imatrix'
  // The first part of a split model may hold the vocabulary and no tensor.
  const isVocabularyAlone = content.tensors.count === 0 && (read.count('tokenizer.ggml.tokens') ?? 0) > 0
  return isVocabularyAlone && split === null ? 'vocabulary' : 'model'
}

/** Older projectors name the length inside their own model, and 0 where there is none. */
function projection(read: HeaderReader): number | null {
  if (read.text('general.type') !== 'mmproj') return null
  return read.whole('clip.vision.projection_dim') || read.whole('clip.audio.projection_dim') || null
}

/** For people's eyes: no control characters, which a terminal would obey. Null = nothing is left. */
function cleanText(text: string | undefined): string | null {
  const clean = text?.replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ').trim() ?? ''
  return clean === '' ? null : clean
}
