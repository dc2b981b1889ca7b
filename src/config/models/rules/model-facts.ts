import type { FoundModel, GgufFacts, ModelFacts, ModelPatch } from '../../../contract/model.ts'
import { withoutUndefined } from '../../../kernel/without-undefined.ts'

/** A model as it is found on disk, whether or not it has an id. */
export type ModelOnDisk = Omit<FoundModel, 'suggested_id' | 'registered_as'>

/** Keys of a row that describe the bytes of its file: another file makes them wrong. */
const BYTES_KEYS = ['files', 'size_bytes', 'quant', 'architecture', 'native_ctx', 'mtp', 'sha256'] as const

/** What a row says of files as they were found. Heads for multi-token prediction are told by the header alone, never by a name. */
export function factsOfFiles(found: ModelOnDisk): ModelFacts {
  const { facts } = found
  return definedFacts({
    path: found.path,
    files: found.files.length > 1 ? found.files : undefined,
    size_bytes: found.size_bytes,
    quant: facts.quant ?? undefined,
    architecture: facts.architecture ?? undefined,
    native_ctx: facts.native_ctx ?? undefined,
    mmproj: found.mmproj ?? undefined,
    drafter: found.drafter ?? undefined,
    mtp: facts.mtp_layers > 0 ? true : undefined,
    license: facts.license ?? undefined,
  })
}

/**
 * The row that `said` asks for, with what its files say where it is silent. The files themselves are named as they were found: first part
 * first, all of them.
 */
export function rowOfFiles(said: ModelFacts, found: ModelOnDisk | undefined): ModelFacts {
  if (found === undefined) return definedFacts(said)
  return { ...factsOfFiles(found), ...definedFacts(said), ...placesOf(found) }
}

function placesOf({ path, files }: ModelOnDisk): ModelFacts {
  return files.length > 1 ? { path, files } : { path }
}

/** The row after a change. `found`: the files it names now, when it names others than before. Null deletes a key. */
export function patchFacts(row: ModelFacts, patch: ModelPatch, found: ModelOnDisk | undefined): ModelFacts {
  const base: Record<string, unknown> = { ...row }
  if (found !== undefined) {
    for (const key of BYTES_KEYS) delete base[key]
    Object.assign(base, definedFacts({ ...factsOfFiles(found), mmproj: undefined, drafter: undefined }))
    if (found.mmproj !== null) base['mmproj'] ??= found.mmproj
    if (found.drafter !== null) base['drafter'] ??= found.drafter
  }
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete base[key]
    else if (value !== undefined) base[key] = value
  }
  if (found !== undefined) Object.assign(base, placesOf(found))
  return base
}

/** The row without keys that are undefined. */
export function definedFacts(row: { readonly [Key in keyof ModelFacts]?: ModelFacts[Key] | undefined }): ModelFacts {
  return withoutUndefined(row)
}

/** How people call a file that is no model; undefined = it is one. */
export function otherKindOf(kind: GgufFacts['kind']): string | undefined {
  switch (kind) {
    case 'model':
      return undefined
    case 'mmproj':
      return 'a projector for images or audio, which belongs to a model as its mmproj'
    case 'adapter':
      return 'an adapter, which a profile adds with --lora'
    case 'imatrix':
      return 'an importance matrix, made for quantising models'
    case 'vocabulary':
      return 'a vocabulary without weights'
  }
}
