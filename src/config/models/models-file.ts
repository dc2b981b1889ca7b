import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { type ModelFacts, modelFactsSchema, modelIdSchema } from '../../contract/model.ts'
import { writeFileWhole } from '../../files/atomic-write.ts'
import type { Home } from '../../files/home.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { listNames } from '../../kernel/list-names.ts'
import { selectNearest } from '../../kernel/nearest-word.ts'
import { withoutUndefined } from '../../kernel/without-undefined.ts'
import type { LaunchModel } from '../../launch/rules/launch-request.ts'
import { checkModelFiles, readGgufFacts } from '../../models/gguf-facts.ts'
import { withWriteLock } from '../home/write-lock.ts'
import { configError } from '../toml/mistake.ts'
import { isTable } from '../toml/rules/table.ts'
import { readTomlData } from '../toml/toml-data.ts'
import { parseToml, readTomlFile } from '../toml/toml-file.ts'
import { writeToml } from '../toml/write-toml.ts'

/** `etc/hal0/models.toml`: the registry, one `[models.<id>]` table per model. Source: SPEC 2, 3. */
export const modelsFileSchema = z.strictObject({
  models: z
    .record(
      modelIdSchema,
      modelFactsSchema.refine((row) => row.path !== undefined || row.files !== undefined, 'expected path or files'),
    )
    .default({}),
})

/** The (first) file of a row. */
export function firstFileOf(row: ModelFacts): string {
  return row.path ?? row.files?.[0] ?? ''
}

export function modelsFilePath(home: Home): string {
  return join(home.etc, 'models.toml')
}

/** The rows of the registry by id, in the order of the file. Errors: `config.invalid` (every mistake). */
export async function readModelRows(home: Home): Promise<ReadonlyMap<string, ModelFacts>> {
  const outcome = await readTomlFile(modelsFilePath(home), modelsFileSchema)
  if (outcome === 'absent') return new Map()
  if (!outcome.ok) throw configError(outcome.error)
  return new Map(Object.entries(outcome.value.models))
}

/** Model id → absolute path of its (first) file. Errors: `config.invalid`. */
export async function readModels(home: Home): Promise<ReadonlyMap<string, string>> {
  return new Map([...(await readModelRows(home))].map(([id, row]) => [id, firstFileOf(row)]))
}

/** Errors: `model.not_found` (naming the nearest id, or what there is), `config.invalid`. */
export async function findModelRow(home: Home, id: string): Promise<ModelFacts> {
  const rows = await readModelRows(home)
  const row = rows.get(id)
  if (row !== undefined) return row
  throw noSuchModel(home, id, [...rows.keys()])
}

/** The error for an id that no row has. */
export function noSuchModel(home: Home, id: string, ids: readonly string[]): Hal0Error {
  const nearest = selectNearest(id, ids)
  const hint = nearest === undefined ? '' : `; did you mean ${nearest}?`
  const known = ids.length === 0 ? ' (it lists none)' : ` (known: ${listNames(ids)})`
  return Hal0Error.of('model.not_found', `no model "${id}" in ${modelsFilePath(home)}${hint}${known}`, {
    param: 'model.default',
    details: {
      model: id,
      remedy: '`hal0 model list` shows the ids; `hal0 model add FILE` registers a file, `hal0 model scan` a folder.',
    },
  })
}

/**
 * The model as a launch takes it: what the row says wins over what the file's header says. A folder (for engines that load one) has no
 * header. Errors: `slot.model_missing` (naming every file that is not there, or one that is no GGUF), `slot.config_error` (damaged
 * header). Source: SPEC 3 "model".
 */
export async function launchModelOf(id: string, row: ModelFacts): Promise<LaunchModel> {
  const path = firstFileOf(row)
  const isFolder = await stat(path).then(
    (facts) => facts.isDirectory(),
    () => false,
  )
  const missing = await checkModelFiles(isFolder ? companionsOf(row) : allFilesOf(row))
  if (missing.length > 0) throw filesMissing(id, missing)
  const facts = isFolder ? undefined : await readGgufFacts(path)
  return {
    id,
    path,
    architecture: row.architecture ?? facts?.architecture ?? null,
    nativeCtxTokens: row.native_ctx ?? facts?.native_ctx ?? null,
    chatTemplate: row.chat_template ?? null,
    mmproj: row.mmproj ?? null,
    drafter: row.drafter ?? null,
    mtp: row.mtp ?? null,
    tags: row.tags ?? [],
    jinja: row.jinja ?? null,
    ...(facts === undefined ? {} : { pooling: facts.pooling }),
  }
}

function filesMissing(id: string, missing: readonly string[]): Hal0Error {
  const [what, verb] = missing.length === 1 ? ['file', 'is'] : ['files', 'are']
  const message = `model "${id}": ${missing.length} ${what} that its row names ${verb} not there or cannot be read: ${missing.join(', ')}`
  return Hal0Error.of('slot.model_missing', message, {
    details: {
      model: id,
      missing,
      remedy: `Put it back, and the next load works without a restart of hal0; or correct the row: \`hal0 config edit models\`.`,
    },
  })
}

/** The parts of the model, first part first. */
export function modelFilesOf(row: ModelFacts): readonly string[] {
  if (row.files === undefined) return [firstFileOf(row)]
  return row.path === undefined || row.files.includes(row.path) ? row.files : [row.path, ...row.files]
}

/** Files that are used beside the model. */
function companionsOf(row: ModelFacts): readonly string[] {
  return [row.mmproj, row.drafter, row.chat_template].filter((file) => file !== undefined)
}

/** Every file that the row names. */
export function allFilesOf(row: ModelFacts): readonly string[] {
  return [...modelFilesOf(row), ...companionsOf(row)]
}

/**
 * The door to models.toml: `decide` sees the rows as they are while nobody else writes, and answers those to put in place whole; undefined
 * takes a row out. A file with mistakes is never written over. Errors: `config.invalid`, and those of `decide`.
 */
export function writeModelRows(
  home: Home,
  decide: (
    rows: ReadonlyMap<string, ModelFacts>,
  ) => Promise<Readonly<Record<string, ModelFacts | undefined>>> | Readonly<Record<string, ModelFacts | undefined>>,
): Promise<void> {
  return withWriteLock(home, async () => {
    const changes = Object.entries(await decide(await readModelRows(home)))
    if (changes.length === 0) return
    const { text, data } = await readTomlData(modelsFilePath(home))
    const rows = new Map(isTable(data['models']) ? Object.entries(data['models']) : [])
    for (const [id, row] of changes) {
      if (row === undefined) rows.delete(id)
      else rows.set(id, withoutUndefined(row))
    }
    const models = rows.size === 0 ? undefined : Object.fromEntries(rows)
    const checked = modelsFileSchema.safeParse({ models })
    if (!checked.success) {
      const reason = checked.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; ')
      throw Hal0Error.of('validation.invalid', `models.toml would not be valid: ${reason}`)
    }
    await writeToml(modelsFilePath(home), text, { ...data, models })
  })
}

/**
 * Adds a row, or does nothing when the id has that path already. The rest of a hand-written file stays as it is.
 * Errors: `model.exists` (the id names another file), `config.invalid`.
 */
export function registerModel(home: Home, id: string, path: string): Promise<void> {
  return writeModelRows(home, (rows) => {
    const existing = rows.get(id)
    if (existing === undefined) return { [id]: { path } }
    if (firstFileOf(existing) === path) return {}
    throw Hal0Error.of('model.exists', `model "${id}" is registered as ${firstFileOf(existing)}`, {
      details: { model: id },
    })
  })
}

/**
 * The file of a model has another place: every mention of the old path in models.toml becomes the new one, all else stays as it is.
 * False = the text does not spell the path in a way that can be replaced safely; nothing was written. Errors: `config.invalid`.
 */
export function moveModel(home: Home, from: string, to: string): Promise<boolean> {
  return withWriteLock(home, () => movePath(home, from, to))
}

async function movePath(home: Home, from: string, to: string): Promise<boolean> {
  const file = modelsFilePath(home)
  const before = await readFile(file, 'utf8')
  const moved = new Map([...(await readModels(home))].map(([id, path]) => [id, path === from ? to : path]))
  const text = before.replaceAll(JSON.stringify(from), JSON.stringify(to))
  const parsed = parseToml(file, text, modelsFileSchema)
  const isMoved =
    parsed.ok && Object.entries(parsed.value.models).every(([id, row]) => moved.get(id) === firstFileOf(row))
  if (isMoved) await writeFileWhole(file, text)
  return isMoved
}
