import { basename } from 'node:path'
import type { ModelAdd, ModelFacts, ModelPatch, ModelRow } from '../../contract/model.ts'
import type { Home } from '../../files/home.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { listNames } from '../../kernel/list-names.ts'
import { inspectModel } from '../../models/inspect.ts'
import { readLaneUses } from '../lanes/lane-uses.ts'
import { readSlotUses } from '../slots/slot-uses.ts'
import { checkPatch, inspectForRow, refuseUnfit } from './check-model.ts'
import { deleteModelFiles } from './delete-model-files.ts'
import { describeFound, indexFiles } from './found-models.ts'
import { modelRowOf, modelRowsOf } from './model-view.ts'
import type { Models } from './models.ts'
import { allFilesOf, findModelRow, firstFileOf, noSuchModel, readModelRows, writeModelRows } from './models-file.ts'
import { definedFacts, patchFacts, rowOfFiles } from './rules/model-facts.ts'
import { scanModels } from './scan-models.ts'
import { chooseModelId, readTakenNames, refuseNameClash } from './taken-names.ts'

export interface ModelRegistryDeps {
  readonly home: Home
  /** The model store; files outside it are never deleted. Absolute. */
  storeFolder(): string
  /** `[models] scan`. Absolute. */
  scanFolders(): readonly string[]
}

/** The model registry of a home. Every write happens under the write lock. Source: SPEC 2, 3 "model". */
export function createModels(deps: ModelRegistryDeps): Models {
  const { home } = deps
  const show = async (id: string): Promise<ModelRow> => {
    const [row, uses] = await Promise.all([findModelRow(home, id), readSlotUses(home)])
    return modelRowOf(id, row, uses)
  }

  return {
    async list() {
      const [rows, uses] = await Promise.all([readModelRows(home), readSlotUses(home)])
      return modelRowsOf(rows, uses)
    },

    show,

    async add(input: ModelAdd) {
      const { id: wanted, ...said } = input
      const found = await inspectForRow(said)
      await refuseUnfit(home, said)
      const row = rowOfFiles(said, found)
      let id = wanted ?? ''
      await writeModelRows(home, async (rows) => {
        if (wanted === undefined) {
          const known = await (await indexFiles(rows))(firstFileOf(row))
          if (known !== undefined) throw modelExists(known, firstFileOf(row))
        }
        id = wanted ?? chooseModelId(basename(firstFileOf(row)), await readTakenNames(home, rows))
        const existing = rows.get(id)
        if (existing !== undefined) throw modelExists(id, firstFileOf(existing))
        await refuseNameClash(home, rows, id)
        return { [id]: row }
      })
      return show(id)
    },

    async update(id: string, patch: ModelPatch) {
      await findModelRow(home, id)
      await refuseUnfit(home, definedFacts(withoutNulls(patch)))
      const found = namesFiles(patch) ? await inspectForRow(definedFacts(withoutNulls(patch))) : undefined
      await writeModelRows(home, (rows) => {
        const row = rows.get(id)
        if (row === undefined) throw noSuchModel(home, id, [...rows.keys()])
        const next = patchFacts(row, patch, found)
        checkPatch(id, next)
        return { [id]: next }
      })
      return show(id)
    },

    async remove(id, { deleteFiles }) {
      let files: readonly string[] = []
      let needed: readonly string[] = []
      await writeModelRows(home, async (rows) => {
        const row = rows.get(id)
        if (row === undefined) throw noSuchModel(home, id, [...rows.keys()])
        await refuseInUse(home, rows, id, row)
        files = allFilesOf(row)
        needed = [...rows].flatMap(([other, facts]) => (other === id ? [] : allFilesOf(facts)))
        return { [id]: undefined }
      })
      if (!deleteFiles) return { id, deleted_files: [], freed_bytes: 0 }
      const { deleted, freedBytes } = await deleteModelFiles(deps.storeFolder(), files, needed)
      return { id, deleted_files: [...deleted], freed_bytes: freedBytes }
    },

    scan: (input) => scanModels(deps, input),

    async inspect(path) {
      const [found, rows] = await Promise.all([inspectModel(path), readModelRows(home)])
      return describeFound(found, await indexFiles(rows), await readTakenNames(home, rows))
    },
  }
}

function modelExists(id: string, path: string): Hal0Error {
  return Hal0Error.of('model.exists', `model "${id}" is registered as ${path}`, {
    param: 'id',
    details: { model: id, remedy: `Choose another id, or look at that one: \`hal0 model show ${id}\`.` },
  })
}

function namesFiles(patch: ModelPatch): boolean {
  return typeof patch.path === 'string' || Array.isArray(patch.files)
}

function withoutNulls(patch: ModelPatch): ModelFacts {
  return Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== null))
}

async function refuseInUse(
  home: Home,
  rows: ReadonlyMap<string, ModelFacts>,
  id: string,
  row: ModelFacts,
): Promise<void> {
  const [slotUses, laneUses] = await Promise.all([readSlotUses(home), readLaneUses(home)])
  const slots = slotUses.filter((use) => use.modelId === id).map((use) => use.slot)
  const lanes = laneUses.filter((use) => use.modelId === id).map((use) => use.lane)
  const file = firstFileOf(row)
  const models = [...rows]
    .filter(([other, facts]) => other !== id && (facts.drafter === file || facts.mmproj === file))
    .map(([other]) => other)
  if (slots.length === 0 && lanes.length === 0 && models.length === 0) return
  const users = [
    ...slots.map((slot) => `slot ${slot}`),
    ...lanes.map((lane) => `lane ${lane} (as its default)`),
    ...models.map((model) => `model ${model}`),
  ]
  const commands = (lines: readonly string[]) => lines.map((line) => `\`${line}\``).join(', ')
  const remedy = [
    ...(slots.length === 0
      ? []
      : [`Bind another model first: ${commands(slots.map((slot) => `hal0 slot edit ${slot} --model ID`))}.`]),
    ...(lanes.length === 0
      ? []
      : [`Give another default first: ${commands(lanes.map((lane) => `hal0 lane edit ${lane} --model ID`))}.`]),
    ...(models.length === 0 ? [] : [`Change the rows of ${models.join(', ')} first: \`hal0 config edit models\`.`]),
  ].join(' ')
  throw Hal0Error.of('model.in_use', `model "${id}" is used by ${listNames(users)}`, {
    details: { model: id, slots, lanes, models, remedy },
  })
}
