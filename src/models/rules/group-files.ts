import type { FoundModel, GgufFacts } from '../../contract/model.ts'
import { modelWords, splitPartName } from './file-names.ts'
import { pairDrafters, pairProjectors } from './pair-files.ts'
import type { PairingFacts, ResolvedFacts } from './resolve-facts.ts'

/** A GGUF file of one folder. */
export interface GroupFile extends ResolvedFacts {
  /** Without folder; the path ends with it. */
  readonly name: string
  readonly path: string
}

/** What belongs together, without what the registry knows. */
export type GroupedModel = Omit<FoundModel, 'suggested_id' | 'registered_as'>

export interface SkippedFile {
  readonly path: string
  readonly reason: string
}

export interface Grouping {
  /** In path order. */
  readonly models: readonly GroupedModel[]
  /** Files that are no model and belong to none; a projector or drafter that found its model is not among them. */
  readonly skipped: readonly SkippedFile[]
}

/** The parts of one model that are there, in order. */
export interface ModelSet {
  /** Name of the (first) file, whether it is there or not. */
  readonly name: string
  readonly path: string
  readonly files: readonly GroupFile[]
  /** Paths. */
  readonly missing: readonly string[]
  readonly facts: GgufFacts
  readonly pairing: PairingFacts
  /** Of all files. */
  readonly sizeBytes: number
  /** Of its name, without quantisation. */
  readonly words: readonly string[]
}

/**
 * Which files of one folder belong together? Parts of a split model make one model, named by its first part; a projector or a drafter goes
 * to a model only when nothing else is possible. Source: SPEC 3 "model", CASES 29.
 */
export function groupFiles(files: readonly GroupFile[]): Grouping {
  const skipped: SkippedFile[] = []
  const skip = (file: GroupFile, reason: string) => skipped.push({ path: file.path, reason })
  const projectors: GroupFile[] = []
  const models: GroupFile[] = []
  for (const file of files) {
    const { kind } = file.facts
    const mistake = partMistake(file)
    if (mistake !== undefined) skip(file, mistake)
    else if (kind === 'model') models.push(file)
    else if (kind === 'mmproj') projectors.push(file)
    else skip(file, KIND_REASONS[kind])
  }
  const sets = selectSets(models)
  const drafters = pairDrafters(sets)
  const taken = new Set(drafters.values())
  const remaining = sets.filter((set) => !taken.has(set))
  const choices = pairProjectors(remaining, projectors)
  const used = new Set([...choices.values()].flatMap(({ variants }) => variants))
  const grouped = remaining.map((set) => describe(set, choices.get(set)?.file, drafters.get(set)))
  for (const file of projectors) {
    if (!used.has(file)) skip(file, 'a projector, and which model here it belongs to is not clear')
  }
  return { models: grouped, skipped }
}

const KIND_REASONS = {
  adapter: 'an adapter, which only works on top of a model',
  imatrix: 'an importance matrix for quantising, not a model',
  vocabulary: 'a vocabulary without a model',
} as const

/** Engines find the other parts by the name, and believe the header. */
function partMistake(file: GroupFile): string | undefined {
  const { split } = file.facts
  if (split === null) return undefined
  const named = splitPartName(file.name)
  const said = `its header says part ${split.part} of ${split.parts}`
  if (named === undefined)
    return `${said}, and its name does not: it should end with -${five(split.part)}-of-${five(split.parts)}.gguf`
  if (named.part === split.part && named.parts === split.parts) return undefined
  return `${said}, its name says part ${named.part} of ${named.parts}`
}

const five = (count: number) => String(count).padStart(5, '0')

function selectSets(files: readonly GroupFile[]): ModelSet[] {
  const byKey = new Map<string, GroupFile[]>()
  for (const file of files) {
    const key = splitPartName(file.name)?.key ?? file.name
    byKey.set(key, [...(byKey.get(key) ?? []), file])
  }
  const sets = [...byKey.values()].flatMap((members) => toSet(members) ?? [])
  return sets.toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

function toSet(members: readonly GroupFile[]): ModelSet | undefined {
  const partOf = (file: GroupFile) => splitPartName(file.name)?.part ?? 1
  const files = members.toSorted((a, b) => partOf(a) - partOf(b))
  const [first] = files
  if (first === undefined) return undefined
  const named = splitPartName(first.name)
  const folder = first.path.slice(0, first.path.length - first.name.length)
  const pathOf = (part: number) => `${folder}${named?.nameOf(part) ?? first.name}`
  const found = new Set(files.map(partOf))
  const parts = Array.from({ length: named?.parts ?? 1 }, (_, nth) => nth + 1)
  const missing = parts.filter((part) => !found.has(part)).map(pathOf)
  const sizeBytes = files.reduce((sum, file) => sum + file.facts.size_bytes, 0)
  const parameters = missing.length > 0 ? null : sumElements(files)
  return {
    name: named?.nameOf(1) ?? first.name,
    path: pathOf(1),
    files,
    missing,
    facts: { ...first.facts, parameters: first.pairing.statedParameters ?? parameters },
    pairing: first.pairing,
    sizeBytes,
    words: modelWords(first.name),
  }
}

/** Null = nothing was counted, or not all of it. */
function sumElements(files: readonly GroupFile[]): number | null {
  const counts = files.flatMap(({ pairing }) => pairing.elements ?? [])
  const sum = counts.reduce((total, one) => total + one, 0)
  return counts.length < files.length || sum === 0 ? null : sum
}

function describe(set: ModelSet, projector: GroupFile | undefined, drafter: ModelSet | undefined): GroupedModel {
  return {
    path: set.path,
    files: set.files.map((file) => file.path),
    missing: [...set.missing],
    size_bytes: set.sizeBytes,
    mmproj: projector?.path ?? null,
    drafter: drafter?.path ?? null,
    facts: set.facts,
  }
}
