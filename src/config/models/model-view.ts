import { stat } from 'node:fs/promises'
import type { GgufFacts, ModelFacts, ModelRow } from '../../contract/model.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { checkModelFiles, readGgufFacts } from '../../models/gguf-facts.ts'
import { inspectModel } from '../../models/inspect.ts'
import type { SlotUse } from '../slots/slot-uses.ts'
import { allFilesOf, firstFileOf, modelFilesOf } from './models-file.ts'
import { otherKindOf } from './rules/model-facts.ts'

/** Files looked at together: many enough for a slow disk, few enough for the limit of open files. */
const AT_ONCE = 16

/** The registry as people see it, in id order. Headers of files that have not changed are not read again. */
export async function modelRowsOf(
  rows: ReadonlyMap<string, ModelFacts>,
  uses: readonly SlotUse[],
): Promise<readonly ModelRow[]> {
  const sorted = [...rows].toSorted(([left], [right]) => (left < right ? -1 : 1))
  const views: ModelRow[] = []
  for (let from = 0; from < sorted.length; from += AT_ONCE) {
    const some = sorted.slice(from, from + AT_ONCE)
    views.push(...(await Promise.all(some.map(([id, row]) => modelRowOf(id, row, uses)))))
  }
  return views
}

/** One row with what its files say; what the row says wins. A file that is gone or damaged is told in it. Never rejects. */
export async function modelRowOf(id: string, row: ModelFacts, uses: readonly SlotUse[]): Promise<ModelRow> {
  const file = await lookAt(row)
  const { facts } = file
  return {
    id,
    path: firstFileOf(row),
    files: [...file.files],
    size_bytes: row.size_bytes ?? file.sizeBytes,
    quant: row.quant ?? facts?.quant ?? null,
    architecture: row.architecture ?? facts?.architecture ?? null,
    parameters: facts?.parameters ?? null,
    native_ctx: row.native_ctx ?? facts?.native_ctx ?? null,
    chat_template: row.chat_template ?? null,
    mmproj: row.mmproj ?? null,
    drafter: row.drafter ?? null,
    mtp: row.mtp ?? null,
    jinja: row.jinja ?? null,
    tags: row.tags ?? [],
    capabilities: row.capabilities ?? [],
    license: row.license ?? facts?.license ?? null,
    hf_repo: row.hf_repo ?? null,
    hf_filename: row.hf_filename ?? null,
    sha256: row.sha256 ?? null,
    preferred_profile: row.preferred_profile ?? null,
    missing: [...file.missing],
    problem: file.problem,
    bound_by: uses.filter((use) => use.modelId === id).map((use) => use.slot),
  }
}

interface Look {
  readonly files: readonly string[]
  readonly missing: readonly string[]
  readonly sizeBytes: number | null
  readonly facts: GgufFacts | undefined
  readonly problem: string | null
}

async function lookAt(row: ModelFacts): Promise<Look> {
  const path = firstFileOf(row)
  const files = modelFilesOf(row)
  try {
    // Some engines load a folder: its files are theirs to judge.
    if (await isFolder(path)) {
      const missing = await checkModelFiles(allFilesOf(row).filter((file) => file !== path))
      return { files, missing, sizeBytes: null, facts: undefined, problem: null }
    }
    const missing = await checkModelFiles(allFilesOf(row))
    const facts = await readGgufFacts(path)
    const kind = otherKindOf(facts.kind)
    const problem = kind === undefined ? null : `${path} is ${kind}`
    if (facts.split === null || files.length > 1) {
      return { files, missing, sizeBytes: await sizeOf(files), facts, problem }
    }
    // A row by hand may name only the first part.
    const found = await inspectModel(path)
    const parts = found.missing.filter((part) => !missing.includes(part))
    return {
      files: found.files,
      missing: [...missing, ...parts],
      sizeBytes: found.size_bytes,
      facts: found.facts,
      problem,
    }
  } catch (cause) {
    if (!(cause instanceof Hal0Error)) throw cause
    const missing = await checkModelFiles(allFilesOf(row))
    return { files, missing, sizeBytes: null, facts: undefined, problem: cause.message }
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (facts) => facts.isDirectory(),
    () => false,
  )
}

/** Null = a part is not there. */
async function sizeOf(files: readonly string[]): Promise<number | null> {
  const sizes = await Promise.all(
    files.map((file) =>
      stat(file).then(
        (facts) => facts.size,
        () => null,
      ),
    ),
  )
  return sizes.reduce<number | null>((sum, size) => (sum === null || size === null ? null : sum + size), 0)
}
