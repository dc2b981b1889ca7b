import { areRelated, drafterOwnerWords, isStartOf, projectorOwnerWords, sameWords } from './file-names.ts'
import type { GroupFile, ModelSet } from './group-files.ts'

/** A projector in the precision that was chosen, and all precisions in which it is there. */
export interface ProjectorChoice {
  readonly file: GroupFile
  readonly variants: readonly GroupFile[]
}

/** Projectors are small: half precision costs nothing and runs everywhere. */
const PRECISIONS = ['F16', 'BF16', 'Q8_0', 'F32']
/** In a folder with more of them nothing is clear, and comparing all with all would hold up the daemon. */
const MAX_CANDIDATES = 64
/** A drafter that is not much smaller than its model gains nothing. */
const MAX_DRAFTER_SHARE = 1 / 3

/** How a projector came to a model, the surest first: it carries its name, the start of its name, or nobody else is there. */
type Claim = 'name' | 'start' | 'only'
const CLAIMS = ['name', 'start', 'only'] as const

/**
 * Which projector belongs to which model of a folder? One that carries its name, whole or the start of it; else, when all models of the
 * folder are the same model, the only one that is there and does not carry another's name. Never one with another embedding size. A model
 * that is absent from the answer has none.
 */
export function pairProjectors(
  sets: readonly ModelSet[],
  projectors: readonly GroupFile[],
): ReadonlyMap<ModelSet, ProjectorChoice> {
  const choices = new Map<ModelSet, ProjectorChoice>()
  if (projectors.length > MAX_CANDIDATES) return choices
  const claims = projectors.map((file) => ({ file, ...claimOf(file, sets) }))
  for (const set of sets) {
    const fitting = claims.filter(({ file, owners }) => owners.has(set) && isFitting(file, set))
    const best = CLAIMS.find((claim) => fitting.some((one) => one.claim === claim))
    const choice = chooseVariant(fitting.filter((one) => one.claim === best).map((one) => one.file))
    if (choice !== undefined) choices.set(set, choice)
  }
  return choices
}

function claimOf(
  file: GroupFile,
  sets: readonly ModelSet[],
): { readonly claim: Claim; readonly owners: ReadonlySet<ModelSet> } {
  const owner = projectorOwnerWords(file.name)
  const named = sets.filter(({ words }) => owner.length > 0 && sameWords(owner, words))
  if (named.length > 0) return { claim: 'name', owners: new Set(named) }
  const begun = sets.filter(({ words }) => isStartOf(owner, words))
  if (begun.length > 0) return { claim: 'start', owners: new Set(areOneModel(begun) ? begun : []) }
  const isOwner = areOneModel(sets) && areRelated(owner, sets[0]?.words ?? [])
  return { claim: 'only', owners: new Set(isOwner ? sets : []) }
}

/** Several quantisations of one model are one; names that tell nothing are alike without being the same model. */
function areOneModel(sets: readonly ModelSet[]): boolean {
  const [first] = sets
  if (first === undefined || sets.length === 1) return true
  return first.words.length > 0 && sets.every(({ words }) => sameWords(words, first.words))
}

function isFitting(projector: GroupFile, { facts }: ModelSet): boolean {
  const { projectionLength } = projector.pairing
  const embedding = facts.kv.embedding_length
  return projectionLength === null || embedding === null || projectionLength === embedding
}

/** Undefined = none, or several different ones. Files that differ in precision alone are one projector. */
function chooseVariant(files: readonly GroupFile[]): ProjectorChoice | undefined {
  const [first] = files
  if (first === undefined) return undefined
  const owner = projectorOwnerWords(first.name)
  const quants = new Set(files.map((file) => file.facts.quant))
  const isOne = files.every((file) => sameWords(projectorOwnerWords(file.name), owner))
  if (!isOne || quants.size < files.length) return undefined
  const rank = (file: GroupFile) => {
    const at = PRECISIONS.indexOf(file.facts.quant ?? '')
    return at === -1 ? PRECISIONS.length : at
  }
  const [file = first] = files.toSorted((a, b) => rank(a) - rank(b) || (a.path < b.path ? -1 : 1))
  return { file, variants: files }
}

/**
 * Which model of a folder drafts for which? Only one that says so in its name together with the name of its model, has the same vocabulary
 * and is much smaller; and only when there is no second one. A model that is absent from the answer has none.
 */
export function pairDrafters(sets: readonly ModelSet[]): ReadonlyMap<ModelSet, ModelSet> {
  const pairs = new Map<ModelSet, ModelSet>()
  const marked = sets.flatMap((drafter) => {
    const owner = drafterOwnerWords(drafter.words)
    return owner === undefined ? [] : { drafter, owner }
  })
  if (marked.length > MAX_CANDIDATES) return pairs
  const drafters = new Set(marked.map(({ drafter }) => drafter))
  for (const set of sets.filter((one) => !drafters.has(one))) {
    const fitting = marked.filter(({ drafter, owner }) => isStartOf(owner, set.words) && isDrafterOf(drafter, set))
    const [first, ...more] = fitting
    if (first !== undefined && more.length === 0) pairs.set(set, first.drafter)
  }
  return pairs
}

function isDrafterOf(drafter: ModelSet, set: ModelSet): boolean {
  const { tokenizer } = set.pairing
  const { vocabulary } = set.facts.kv
  const isSameVocabulary =
    tokenizer !== null &&
    vocabulary !== null &&
    tokenizer === drafter.pairing.tokenizer &&
    vocabulary === drafter.facts.kv.vocabulary
  return isSameVocabulary && drafter.missing.length === 0 && drafter.sizeBytes <= set.sizeBytes * MAX_DRAFTER_SHARE
}
