import { readdir, stat } from 'node:fs/promises'
import type { GgufFacts, ModelFacts } from '../../contract/model.ts'
import type { Home } from '../../files/home.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { listNames } from '../../kernel/list-names.ts'
import { checkModelFiles, readGgufFacts } from '../../models/gguf-facts.ts'
import { inspectModel } from '../../models/inspect.ts'
import { readProfiles } from '../profiles/profiles-file.ts'
import { firstFileOf, modelFilesOf } from './models-file.ts'
import { type ModelOnDisk, otherKindOf } from './rules/model-facts.ts'

/**
 * The model whose files a row is to name; undefined = a folder, which has no header.
 * Errors: `slot.model_missing`, `slot.config_error` (damaged header), `validation.invalid` (no file named, no model, parts missing).
 */
export async function inspectForRow(said: ModelFacts): Promise<ModelOnDisk | undefined> {
  const path = firstFileOf(said)
  if (path === '') throw invalid('path', 'expected path or files: which file is it?')
  if (await isForeignFolder(path)) return undefined
  const found = await inspectModel(path)
  const kind = otherKindOf(found.facts.kind)
  if (kind !== undefined) throw invalid('path', `${path} is ${kind}`)
  const gone = [...found.missing, ...(await checkModelFiles(modelFilesOf(said)))]
  if (gone.length > 0) {
    throw invalid('files', `parts of the model are not there: ${[...new Set(gone)].join(', ')}`)
  }
  return found
}

/** A folder without GGUF files is a model of another kind; one with them is looked into. */
async function isForeignFolder(path: string): Promise<boolean> {
  const facts = await stat(path).catch(() => undefined)
  if (facts?.isDirectory() !== true) return false
  const names = await readdir(path).catch(() => [])
  return names.length > 0 && !names.some((name) => /\.gguf$/i.test(name))
}

/**
 * Are the files beside the model there and of the right kind, and is there a profile of that name?
 * Errors: `validation.invalid` naming the key.
 */
export async function refuseUnfit(home: Home, said: ModelFacts): Promise<void> {
  await refuseOtherFile('mmproj', said.mmproj, 'mmproj', 'a projector')
  await refuseOtherFile('drafter', said.drafter, 'model', 'a model')
  if (said.chat_template !== undefined && (await checkModelFiles([said.chat_template])).length > 0) {
    throw invalid('chat_template', `there is no readable file ${said.chat_template}`)
  }
  if (said.preferred_profile === undefined) return
  const profiles = await readProfiles(home)
  if (profiles.has(said.preferred_profile)) return
  const known = listNames(profiles.keys())
  throw invalid('preferred_profile', `there is no profile "${said.preferred_profile}" (there are ${known})`)
}

/** Errors: `validation.invalid` when a row names no file any more. */
export function checkPatch(id: string, row: ModelFacts): void {
  if (firstFileOf(row) === '') throw invalid('path', `model "${id}" needs a path or files`)
}

async function refuseOtherFile(
  key: string,
  path: string | undefined,
  kind: GgufFacts['kind'],
  expected: string,
): Promise<void> {
  if (path === undefined) return
  let found: GgufFacts['kind']
  try {
    found = (await readGgufFacts(path)).kind
  } catch (cause) {
    if (cause instanceof Hal0Error) throw invalid(key, cause.message)
    throw cause
  }
  if (found !== kind) throw invalid(key, `${path} is ${otherKindOf(found) ?? 'a model'}; expected ${expected}`)
}

function invalid(key: string, message: string): Hal0Error {
  return Hal0Error.of('validation.invalid', `${key}: ${message}`, {
    param: key,
    details: { mistakes: [{ key, message }] },
  })
}
