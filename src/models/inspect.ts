import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { Hal0Error } from '../kernel/errors.ts'
import { readAllFacts } from './gguf-facts.ts'
import { drafterOwnerWords, isProjectorName, modelWords, splitPartName } from './rules/file-names.ts'
import { type GroupedModel, type GroupFile, groupFiles } from './rules/group-files.ts'

/** In a folder with more GGUF files, only those are read that by their names may belong to the model. */
const MAX_NEIGHBOURS = 16

/**
 * What is this file, and what belongs to it? `path`: a model, any part of a split one, a projector, an adapter …; or a folder that holds
 * exactly one model. Parts, projector and drafter are found in the same folder. `facts.kind` says whether it is a model at all.
 * Errors: `slot.model_missing`, `slot.config_error` (damaged header; a part whose header contradicts its name). Source: SPEC 3, CASES 29.
 */
export async function inspectModel(path: string): Promise<GroupedModel> {
  const place = resolve(path)
  const isFolder = await stat(place).then(
    (facts) => facts.isDirectory(),
    () => false,
  )
  if (isFolder) return inspectFolder(place)
  const target = await readFile(place)
  if (target.facts.kind !== 'model') return describeAlone(target)
  const neighbours = await readNeighbours(target)
  const { models, skipped } = groupFiles([target, ...neighbours])
  const model = models.find((one) => one.files.includes(place))
  if (model !== undefined) return model
  const reason = skipped.find((one) => one.path === place)?.reason
  // A drafter that was paired: told for itself here.
  if (reason === undefined)
    return groupFiles(neighbours.filter(isPartOf(target)).concat(target)).models[0] ?? describeAlone(target)
  throw Hal0Error.of('slot.config_error', `${place} does not fit its name: ${reason}`, {
    details: { path: place, remedy: 'Give the file the name it had where it came from, or fetch it again.' },
  })
}

async function inspectFolder(folder: string): Promise<GroupedModel> {
  const names = await ggufNames(folder)
  const read = await Promise.all(names.slice(0, MAX_NEIGHBOURS).map((name) => tryFile(join(folder, name))))
  const { models } = groupFiles(read.filter((file) => file !== undefined))
  const [model] = models
  if (model !== undefined && models.length === 1 && names.length <= MAX_NEIGHBOURS) return model
  const held = names.length > MAX_NEIGHBOURS ? `${names.length} GGUF files` : `${models.length} models`
  throw Hal0Error.of('slot.model_missing', `${folder} is a folder with ${held}: name one model file in it`, {
    details: { path: folder, remedy: 'Name the model file, or look through the folder with `hal0 model scan`.' },
  })
}

/** Parts of the same set must be readable; others that are not are left out, as they belong to nobody. */
async function readNeighbours(target: GroupFile): Promise<GroupFile[]> {
  const folder = dirname(target.path)
  const all = (await ggufNames(folder)).filter((name) => name !== target.name)
  const isPart = isPartOf(target)
  const isNear = (name: string) => isProjectorName(name) || drafterOwnerWords(modelWords(name)) !== undefined
  const isFew = all.length <= MAX_NEIGHBOURS
  const neighbours: GroupFile[] = []
  for (const name of all) {
    const path = join(folder, name)
    if (isPart({ name })) neighbours.push(await readFile(path))
    else if (isFew || isNear(name)) neighbours.push(...[await tryFile(path)].filter((file) => file !== undefined))
    // Not read, but there: a projector without a name must not think that it has the folder to itself.
    else neighbours.push({ ...target, name, path, facts: { ...target.facts, split: null, size_bytes: 0 } })
  }
  return neighbours
}

function isPartOf(target: GroupFile): (file: { readonly name: string }) => boolean {
  const own = splitPartName(target.name)
  return ({ name }) => own !== undefined && splitPartName(name)?.key === own.key
}

async function readFile(path: string): Promise<GroupFile> {
  const { facts, pairing } = await readAllFacts(path)
  return { name: basename(path), path, facts, pairing }
}

async function tryFile(path: string): Promise<GroupFile | undefined> {
  try {
    return await readFile(path)
  } catch {
    return undefined
  }
}

/** In name order; empty when the folder cannot be read. */
async function ggufNames(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  return names.filter((name) => /\.gguf$/i.test(name) && !name.startsWith('.')).toSorted()
}

function describeAlone({ path, facts }: GroupFile): GroupedModel {
  return { path, files: [path], missing: [], size_bytes: facts.size_bytes, mmproj: null, drafter: null, facts }
}
