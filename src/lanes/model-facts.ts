import { stat } from 'node:fs/promises'
import { allFilesOf, modelFilesOf, readModelRows } from '../config/models/models-file.ts'
import { defaultProfileOf, type Profile, readProfiles } from '../config/profiles/profiles-file.ts'
import { fitsSlot } from '../config/profiles/rules/fits-slot.ts'
import type { LaneTarget } from '../contract/lane.ts'
import type { ModelFacts } from '../contract/model.ts'
import type { Home } from '../files/home.ts'
import { Hal0Error, messageOf } from '../kernel/errors.ts'
import { listNames } from '../kernel/list-names.ts'
import type { Log } from '../kernel/log.ts'
import { selectNearest } from '../kernel/nearest-word.ts'

/** What lanes know of models and profiles, as read last; answers cost nothing. Source: SPEC 12 "Estimate", "Failure". */
export interface ModelBook {
  /** Reads models.toml, profiles.toml and the size of the files again. Never rejects: what cannot be read now stays as it was. */
  refresh(): Promise<void>
  /** Of all parts; undefined = unknown model, or its files are not there. */
  sizeBytes(model: string): number | undefined
  /** Changes with the model's row, its files and the profile. */
  fingerprintOf(target: LaneTarget): string
  /** The pair that a wish for this model means: its own profile, else the model's preferred one where that fits, else the type's. Errors: `model.not_found`, `profile.not_found`. */
  targetOf(
    model: string,
    profile: string | undefined,
    runner: string | undefined,
  ): LaneTarget & { readonly kind: 'model' }
}

interface KnownModel {
  readonly row: ModelFacts
  readonly sizeBytes: number | undefined
  /** Of each file, companions too: when it was written; 0 = it is not there. */
  readonly changed: readonly number[]
}

export async function openModelBook(home: Home, log: Log): Promise<ModelBook> {
  let models: ReadonlyMap<string, KnownModel> = new Map()
  let profiles: ReadonlyMap<string, Profile> = new Map()

  async function refresh(): Promise<void> {
    try {
      const rows = await readModelRows(home)
      models = new Map(await Promise.all([...rows].map(async ([id, row]) => [id, await look(row)] as const)))
      profiles = await readProfiles(home)
    } catch (cause) {
      log.debug({ reason: messageOf(cause) }, 'models or profiles cannot be read now; the lanes go by what they said')
    }
  }
  await refresh()

  function fitting(name: string | undefined, runner: string | undefined): string | undefined {
    const profile = name === undefined ? undefined : profiles.get(name)
    return profile !== undefined && fitsSlot(profile, { type: 'llm', binary: runner }) ? name : undefined
  }

  return {
    refresh,
    sizeBytes: (model) => models.get(model)?.sizeBytes,
    fingerprintOf(target) {
      if (target.kind === 'nothing') return ''
      return JSON.stringify([models.get(target.model), profiles.get(target.profile)?.body])
    },
    targetOf(model, profile, runner) {
      const known = models.get(model)
      if (known === undefined) throw noSuchModel(model, [...models.keys()])
      if (profile !== undefined && !profiles.has(profile)) throw noSuchProfile(profile, [...profiles.keys()])
      const chosen = profile ?? fitting(known.row.preferred_profile, runner) ?? defaultProfileOf('llm')
      return { kind: 'model', model, profile: chosen }
    },
  }
}

async function look(row: ModelFacts): Promise<KnownModel> {
  const own = new Set(modelFilesOf(row))
  const facts = await Promise.all(
    allFilesOf(row).map(async (file) => ({ file, found: await stat(file).catch(() => undefined) })),
  )
  const parts = facts.filter(({ file }) => own.has(file))
  const isWhole = parts.every(({ found }) => found !== undefined)
  return {
    row,
    sizeBytes: isWhole ? parts.reduce((sum, { found }) => sum + (found?.size ?? 0), 0) : row.size_bytes,
    changed: facts.map(({ found }) => found?.mtimeMs ?? 0),
  }
}

/** Without the path of the file: members read it too. */
function noSuchModel(model: string, known: readonly string[]): Hal0Error {
  const nearest = selectNearest(model, known)
  const hint = nearest === undefined ? '' : `; did you mean ${nearest}?`
  return Hal0Error.of('model.not_found', `there is no model "${model}"${hint} (there are: ${listNames(known)})`, {
    param: 'model',
    details: { model, remedy: '`hal0 model list` shows the ids.' },
  })
}

function noSuchProfile(name: string, known: readonly string[]): Hal0Error {
  return Hal0Error.of('profile.not_found', `there is no profile "${name}"; there are: ${listNames(known)}`, {
    param: 'profile',
    details: { profile: name },
  })
}
