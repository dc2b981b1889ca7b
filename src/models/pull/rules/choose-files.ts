import { err, ok, type Result } from '../../../kernel/result.ts'
import {
  baseName,
  folderOf,
  hasQuant,
  isProjectorName,
  quantOf,
  selectNearNames,
  splitPartName,
} from '../../rules/file-names.ts'
import type { HubFile } from './hub-file.ts'

/** What most people want: a third of the size at a loss that is hard to notice. */
export const DEFAULT_QUANT = 'Q4_K_M'

/** So many names stand in an error; a repository may hold hundreds. */
const MAX_NAMES = 20

/** What is fetched, in this order: the parts of the model, first part first, then its projector. */
export interface ChosenFiles {
  readonly model: readonly [HubFile, ...HubFile[]]
  readonly projector: HubFile | null
  /** As the name tells; null = it does not. */
  readonly quant: string | null
}

/** Why nothing could be chosen. `choices`: what is there, likeliest first. */
export interface NoChoice {
  readonly param: 'repo' | 'file' | 'quant'
  readonly reason: string
  readonly choices: readonly string[]
}

/** One model: a file, or all parts of a split one. */
interface Candidate {
  /** Its (first) file; names the candidate. */
  readonly first: HubFile
  readonly files: readonly HubFile[]
}

/**
 * Which files of a repository make the model that was asked for?
 * 1. `file`: that path, else the only one of that name in any folder; of a split model all parts come.
 * 2. `quant`: the only model whose name has it as a word; when no name tells a quantisation, the only model there is.
 * 3. Neither: the only model, else the only one with `DEFAULT_QUANT`.
 * A projector comes along. Source: SPEC 3.
 */
export function chooseFiles(
  files: readonly HubFile[],
  want: { readonly file?: string | undefined; readonly quant?: string | undefined },
): Result<ChosenFiles, NoChoice> {
  const ggufs = files.filter(({ path, sizeBytes }) => /\.gguf$/i.test(path) && sizeBytes > 0)
  const candidates = candidatesOf(ggufs.filter(({ path }) => !isProjector(path) && !isMatrix(path)))
  if (candidates.length === 0) {
    return err({ param: 'repo', reason: 'has no model file in GGUF format', choices: namesOf(files, '') })
  }
  const chosen =
    want.file === undefined ? chooseByQuant(candidates, want.quant) : chooseByFile(ggufs, candidates, want.file)
  if (!chosen.ok) return chosen
  const [first, ...rest] = chosen.value.files
  const missing = missingParts(chosen.value)
  if (first === undefined || missing.length > 0) {
    return err({
      param: 'repo',
      reason: `lacks parts of ${chosen.value.first.path}: ${missing.join(', ')}`,
      choices: namesOf(ggufs, chosen.value.first.path),
    })
  }
  const projectors = ggufs.filter(({ path }) => isProjector(path))
  return ok({ model: [first, ...rest], projector: chooseProjector(projectors, first.path), quant: quantOf(first.path) })
}

function chooseByFile(
  ggufs: readonly HubFile[],
  candidates: readonly Candidate[],
  file: string,
): Result<Candidate, NoChoice> {
  const wanted = file.toLowerCase()
  const exact = ggufs.filter(({ path }) => path === file)
  const loose = ggufs.filter(({ path }) => path.toLowerCase() === wanted || baseName(path).toLowerCase() === wanted)
  const found = exact.length > 0 ? exact : loose
  const [only] = found
  if (only === undefined) {
    return err({ param: 'file', reason: `has no file ${file}`, choices: namesOf(ggufs, file) })
  }
  if (found.length > 1) {
    return err({
      param: 'file',
      reason: `has several files ${file}: name the folder too`,
      choices: namesOf(found, file),
    })
  }
  const candidate = candidates.find((each) => each.files.includes(only))
  if (candidate !== undefined) return ok(candidate)
  const reason = `: ${only.path} is no model by itself; name the model's file, and a projector comes along`
  return err({ param: 'file', reason, choices: candidateNames(candidates, file) })
}

function chooseByQuant(candidates: readonly Candidate[], quant: string | undefined): Result<Candidate, NoChoice> {
  const [only, ...others] = candidates
  if (only !== undefined && others.length === 0) {
    const itsQuant = quantOf(only.first.path)
    if (quant === undefined || itsQuant === null || hasQuant(only.first.path, quant)) return ok(only)
  }
  const wanted = quant ?? DEFAULT_QUANT
  const matches = candidates.filter(({ first }) => hasQuant(first.path, wanted))
  // `UD-Q4_K_M` is a Q4_K_M too, but not when there is a plain one.
  const plain = matches.filter(({ first }) => quantOf(first.path) === wanted.toUpperCase())
  const best = plain.length > 0 ? plain : matches
  const [match] = best
  if (match !== undefined && best.length === 1) return ok(match)
  const choices = candidateNames(best.length > 0 ? best : candidates, wanted)
  if (best.length > 0) return err({ param: 'file', reason: `has several models in ${wanted}`, choices })
  return err({ param: 'quant', reason: `has no model in ${wanted}`, choices })
}

/** F16 first: projectors are small and lose by coarser formats; then BF16, F32, whatever there is. */
function chooseProjector(projectors: readonly HubFile[], model: string): HubFile | null {
  const rank = (path: string): number => {
    const at = ['F16', 'BF16', 'F32'].findIndex((quant) => hasQuant(path, quant))
    return at < 0 ? 3 : at
  }
  const distance = (path: string): number => (folderOf(path) === folderOf(model) ? 0 : folderOf(path) === '' ? 1 : 2)
  const near = projectors.filter(({ path }) => distance(path) < 2)
  const kin = (path: string): number => sharedPrefix(stemOf(path), stemOf(model))
  const byFit = (a: HubFile, b: HubFile): number =>
    distance(a.path) - distance(b.path) ||
    kin(b.path) - kin(a.path) ||
    rank(a.path) - rank(b.path) ||
    (a.path < b.path ? -1 : 1)
  return near.toSorted(byFit)[0] ?? null
}

/** The name without the words that tell what it is and in which format. */
function stemOf(path: string): string {
  const name = baseName(path).toLowerCase()
  return name.replaceAll(/(?:^|[-._])(?:mmproj|bf16|f16|f32|gguf)(?=[-._]|$)/g, '').replace(/^[-._]/, '')
}

function sharedPrefix(a: string, b: string): number {
  let length = 0
  while (length < a.length && a[length] === b[length]) length++
  return length
}

function isProjector(path: string): boolean {
  return isProjectorName(baseName(path))
}

/** Importance matrices are GGUF files too. */
function isMatrix(path: string): boolean {
  return /(?:^|[-._])imatrix(?:[-._]|$)/i.test(baseName(path))
}

function candidatesOf(files: readonly HubFile[]): readonly Candidate[] {
  const groups = new Map<string, HubFile[]>()
  for (const file of files.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    const key = splitPartName(file.path)?.key ?? file.path
    groups.set(key, [...(groups.get(key) ?? []), file])
  }
  return [...groups.values()].flatMap(([first, ...rest]) =>
    first === undefined ? [] : [{ first, files: [first, ...rest] }],
  )
}

function missingParts({ first, files }: Candidate): readonly string[] {
  const split = splitPartName(first.path)
  if (split === undefined) return []
  const there = files.map(({ path }) => splitPartName(path)?.part)
  const all = Array.from({ length: split.parts }, (_, index) => index + 1)
  return all.filter((part) => !there.includes(part)).map((part) => split.nameOf(part))
}

function candidateNames(candidates: readonly Candidate[], wanted: string): readonly string[] {
  return namesOf(
    candidates.map(({ first }) => first),
    wanted,
  )
}

function namesOf(files: readonly HubFile[], wanted: string): readonly string[] {
  return selectNearNames(
    wanted,
    files.map(({ path }) => path),
    MAX_NAMES,
  )
}
