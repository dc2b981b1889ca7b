import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'smol-toml'
import { z } from 'zod'
import { type ModelFacts, modelFactsSchema, modelIdSchema } from '../contract/model.ts'
import { writeFileWhole } from '../files/atomic-write.ts'
import type { Home } from '../files/home.ts'
import { Hal0Error } from '../kernel/errors.ts'
import { configError } from './mistake.ts'
import { parseToml, readTomlFile } from './toml-file.ts'

/** `etc/hal0/models.toml`: the registry, one `[models.<id>]` table per model. Source: SPEC 2, 3. */
export const modelsFileSchema = z.strictObject({
  models: z
    .record(
      modelIdSchema,
      modelFactsSchema.refine((row) => row.path !== undefined || row.files !== undefined, 'expected path or files'),
    )
    .default({}),
})
export type ModelsFile = z.output<typeof modelsFileSchema>

/** The (first) file of a row. */
export function firstFileOf(row: ModelFacts): string {
  return row.path ?? row.files?.[0] ?? ''
}

export function modelsFilePath(home: Home): string {
  return join(home.etc, 'models.toml')
}

/** Model id → absolute path. Errors: `config.invalid`. */
export async function readModels(home: Home): Promise<ReadonlyMap<string, string>> {
  const outcome = await readTomlFile(modelsFilePath(home), modelsFileSchema)
  if (outcome === 'absent') return new Map()
  if (!outcome.ok) throw configError(outcome.error)
  return new Map(Object.entries(outcome.value.models).map(([id, row]) => [id, firstFileOf(row)]))
}

/** Errors: `model.not_found`, `config.invalid`. */
export async function findModelPath(home: Home, id: string): Promise<string> {
  const models = await readModels(home)
  const path = models.get(id)
  if (path !== undefined) return path
  const known = [...models.keys()].join(', ')
  throw Hal0Error.of(
    'model.not_found',
    `no model "${id}" in ${modelsFilePath(home)}${known === '' ? ' (it lists none)' : ` (known: ${known})`}`,
    { param: 'model.default', details: { model: id } },
  )
}

/**
 * Adds a row, or does nothing when the id has that path already. The rest of a hand-written file stays as it is.
 * Errors: `model.exists` (the id names another file), `config.invalid`.
 */
export async function registerModel(home: Home, id: string, path: string): Promise<void> {
  const existing = (await readModels(home)).get(id)
  if (existing === path) return
  if (existing !== undefined) {
    throw Hal0Error.of('model.exists', `model "${id}" is registered as ${existing}`, { details: { model: id } })
  }
  const file = modelsFilePath(home)
  const before = await readFile(file, 'utf8').catch(() => '')
  const text = `${before === '' ? '' : `${before.trimEnd()}\n\n`}${stringify({ models: { [id]: { path } } })}`
  const parsed = parseToml(file, text, modelsFileSchema)
  if (!parsed.ok) throw configError(parsed.error)
  await writeFileWhole(file, text)
}

/**
 * The file of a model has another place: every mention of the old path in models.toml becomes the new one, all else stays as it is.
 * False = the text does not spell the path in a way that can be replaced safely; nothing was written. Errors: `config.invalid`.
 */
export async function moveModel(home: Home, from: string, to: string): Promise<boolean> {
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
