import { stat } from 'node:fs/promises'
import type { FoundModel, ModelFacts, ModelScan, ScanReport } from '../../contract/model.ts'
import type { Home } from '../../files/home.ts'
import { Hal0Error, messageOf } from '../../kernel/errors.ts'
import { scanFolder } from '../../models/scan.ts'
import { describeFound, indexFiles } from './found-models.ts'
import { readModelRows, writeModelRows } from './models-file.ts'
import { factsOfFiles, type ModelOnDisk } from './rules/model-facts.ts'
import { readTakenNames } from './taken-names.ts'

export interface ScanDeps {
  readonly home: Home
  storeFolder(): string
  scanFolders(): readonly string[]
}

/**
 * Looks for models in one folder, or in the store and the folders of the settings, and registers what is new when that is asked for. A
 * find that lacks parts is told, never registered. Errors: `validation.invalid` (no such folder), `config.invalid`.
 */
export async function scanModels(deps: ScanDeps, input: ModelScan): Promise<ScanReport> {
  if (input.folder !== undefined) await requireFolder(input.folder)
  const roots = input.folder === undefined ? [deps.storeFolder(), ...deps.scanFolders()] : [input.folder]
  const models = new Map<string, ModelOnDisk>()
  const skipped: { path: string; reason: string }[] = []
  let filesSeen = 0
  for (const root of new Set(roots)) {
    try {
      await requireFolder(root)
      const scan = await scanFolder(root)
      for (const found of scan.found) models.set(found.path, found)
      skipped.push(...scan.skipped)
      filesSeen += scan.filesSeen
    } catch (cause) {
      skipped.push({ path: root, reason: messageOf(cause) })
    }
  }
  const registered: string[] = []
  if (input.register === true) {
    for (const { path, missing } of models.values()) {
      if (missing.length > 0) skipped.push({ path, reason: `parts are missing: ${missing.join(', ')}` })
    }
    await register(deps.home, [...models.values()], registered)
  }
  const rows = await readModelRows(deps.home)
  const taken = new Set(await readTakenNames(deps.home, rows))
  const registeredFiles = await indexFiles(rows)
  const found: FoundModel[] = []
  for (const model of models.values()) {
    const described = await describeFound(model, registeredFiles, taken)
    if (described.registered_as === null) taken.add(described.suggested_id)
    found.push(described)
  }
  return { found, registered, skipped, files_seen: filesSeen }
}

/** One write for all of them. */
async function register(home: Home, models: readonly ModelOnDisk[], registered: string[]): Promise<void> {
  await writeModelRows(home, async (rows) => {
    const taken = new Set(await readTakenNames(home, rows))
    const added: Record<string, ModelFacts> = {}
    const registeredFiles = await indexFiles(rows)
    for (const model of models) {
      const { suggested_id: id, registered_as: known } = await describeFound(model, registeredFiles, taken)
      if (model.missing.length > 0 || known !== null) continue
      taken.add(id)
      added[id] = factsOfFiles(model)
      registered.push(id)
    }
    return added
  })
}

async function requireFolder(folder: string): Promise<void> {
  const isFolder = await stat(folder).then(
    (facts) => facts.isDirectory(),
    () => false,
  )
  if (isFolder) return
  throw Hal0Error.of('validation.invalid', `there is no folder ${folder}`, { param: 'folder' })
}
