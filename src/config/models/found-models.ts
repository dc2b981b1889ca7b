import { basename } from 'node:path'
import type { FoundModel, ModelFacts } from '../../contract/model.ts'
import { realOrSame } from '../../files/real-or-same.ts'
import { modelFilesOf } from './models-file.ts'
import type { ModelOnDisk } from './rules/model-facts.ts'
import { chooseModelId } from './taken-names.ts'

/** Under which id is this file a model, or a part of one? By its own name or a link to it; undefined = under none. */
export type RegisteredFiles = (path: string) => Promise<string | undefined>

/** An index of the files of the registry; of several rows with one file the first counts. */
export async function indexFiles(rows: ReadonlyMap<string, ModelFacts>): Promise<RegisteredFiles> {
  const ids = new Map<string, string>()
  for (const [id, row] of rows) {
    for (const file of modelFilesOf(row)) {
      for (const name of [file, await realOrSame(file)]) if (!ids.has(name)) ids.set(name, id)
    }
  }
  return async (path) => ids.get(path) ?? ids.get(await realOrSame(path))
}

/** A find with the id it has, or could have. */
export async function describeFound(
  found: ModelOnDisk,
  registered: RegisteredFiles,
  taken: ReadonlySet<string>,
): Promise<FoundModel> {
  return {
    ...found,
    suggested_id: chooseModelId(basename(found.path), taken),
    registered_as: (await registered(found.path)) ?? null,
  }
}
