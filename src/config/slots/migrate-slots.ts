import type { ConfigMistakeRow, Migration } from '../../contract/config-report.ts'
import { type ModelFacts, modelFactsSchema } from '../../contract/model.ts'
import type { ProfileBody } from '../../contract/profile.ts'
import type { Home } from '../../files/home.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { type Log, silentLog } from '../../kernel/log.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { RUNNER_KEYS } from '../../runners/runner-keys.ts'
import { readHomeData } from '../home/home-file.ts'
import { withWriteLock } from '../home/write-lock.ts'
import { readModelRows, writeModelRows } from '../models/models-file.ts'
import { guardProfileWrite } from '../profiles/profile-gate.ts'
import { defaultProfileOf, flagWords, type Profile, readProfiles } from '../profiles/profiles-file.ts'
import { rewriteRetiredProfileKeys, writeProfiles } from '../profiles/write-profiles.ts'
import { daemonSettingsPath } from '../settings/daemon-settings.ts'
import { readConfigText } from '../toml/config-text.ts'
import { describeMistake } from '../toml/mistake.ts'
import { isSameData } from '../toml/rules/same-data.ts'
import { parseTomlData } from '../toml/toml-file.ts'
import { backUp } from '../toml/write-toml.ts'
import { type ConvertedSlot, convertSlot } from './rules/convert-slot.ts'
import { tableNames } from './rules/slot-outline.ts'
import { listSlotFiles, slotFilePath } from './slot-file.ts'
import { type GuardedSlot, guardSlotWrite } from './slot-gate.ts'
import { writeSlotFile } from './write-slot.ts'

/** How a file is to be migrated; nothing is written yet. */
interface Plan {
  readonly slot: string
  readonly file: string
  /** What the plan was made from: if the file says something else by then, it is left alone. */
  readonly text: string
  readonly moved: readonly string[]
  readonly guarded: GuardedSlot
  /** Undefined = nothing goes to a profile. */
  readonly profile: { readonly name: string; readonly body: ProfileBody; readonly isThere: boolean } | undefined
  readonly model: { readonly id: string; readonly facts: ModelFacts } | undefined
}

export interface MigrationOptions {
  /** Every runner of the daemon; absent = those that hal0 knows and those of hal0.toml. */
  readonly runnerKeys?: readonly string[]
  readonly log?: Log
}

/**
 * Moves the tuning keys of every unconverted slot file to where they belong: to a new profile `<slot>-migrated`, made from the one that
 * the slot would have run, and facts to the row of the bound model. Each file is copied to `<file>.bak-<n>` first, keeps its comments, and
 * changes whole or not at all; a second run finds nothing to do. A file that cannot be moved without a decision of a person (refused
 * flags, a fact that the row contradicts, other mistakes) stays as it is and is reported. `mtp` in profiles.toml is rewritten too.
 * Source: SPEC 3 `slot.unconverted`. Errors: `config.invalid` (the folder, profiles.toml or models.toml cannot be read).
 */
export async function migrateSlots(home: Home, options: MigrationOptions = {}): Promise<Migration> {
  await rewriteRetiredProfileKeys(home, options.log ?? silentLog)
  const { names } = await listSlotFiles(home)
  const runnerKeys = options.runnerKeys ?? (await readRunnerKeys(home))
  const migrated: Migration['migrated'] = []
  const failed: ConfigMistakeRow[] = []
  // One after the other: each sees the profiles of those before it.
  for (const name of names) {
    const file = slotFilePath(home, name)
    try {
      const done = await migrateSlot(home, name, runnerKeys)
      if (done === undefined) continue
      if (done.ok) migrated.push(done.value)
      else failed.push(...done.error)
    } catch (cause) {
      if (!(cause instanceof Hal0Error)) throw cause
      failed.push({ file, key: cause.param ?? '', message: cause.message, code: cause.code })
    }
  }
  return { migrated, failed }
}

/** Somebody wrote what the plan was made from. */
class ChangedMeanwhile extends Error {}

/** Nobody writes so often by hand; a program that does would go on for ever. */
const ATTEMPTS = 3

/** Undefined = there is nothing to migrate, perhaps because a second migration has just done it. */
async function migrateSlot(
  home: Home,
  name: string,
  runnerKeys: readonly string[],
): Promise<Result<Migration['migrated'][number], readonly ConfigMistakeRow[]> | undefined> {
  for (let attempt = 1; ; attempt++) {
    const plan = await planMigration(home, name, runnerKeys)
    if (plan === undefined || !plan.ok) return plan
    try {
      return ok(await carryOut(home, plan.value))
    } catch (cause) {
      if (!(cause instanceof ChangedMeanwhile)) throw cause
      if (attempt < ATTEMPTS) continue
      throw Hal0Error.of('config.invalid', `${cause.message} meanwhile; run \`hal0 config migrate\` again`, { cause })
    }
  }
}

async function readRunnerKeys(home: Home): Promise<readonly string[]> {
  const { data } = await readHomeData(daemonSettingsPath(home))
  return [...new Set([...RUNNER_KEYS, ...tableNames(data ?? {}, 'runners')])]
}

async function planMigration(
  home: Home,
  slot: string,
  runnerKeys: readonly string[],
): Promise<Result<Plan, readonly ConfigMistakeRow[]> | undefined> {
  const file = slotFilePath(home, slot)
  const failure = (key: string, message: string): ConfigMistakeRow => ({ file, key, message, code: 'slot.unconverted' })
  const text = await readConfigText(file)
  if (text === 'absent') return undefined
  const data = text.ok ? parseTomlData(file, text.value) : text
  if (!data.ok || !text.ok) return data.ok ? undefined : err([failure('', describeMistake(data.error))])
  const converted = convertSlot(data.value)
  if (converted === undefined) return undefined
  if (converted.stuck.length > 0) return err(converted.stuck.map(({ key, message }) => failure(key, message)))
  // What is left has to be right, before anything is made from it.
  const rest = guardSlotWrite(converted.rest, { file, name: slot, source: 'disk' })
  const profiles = await readProfiles(home)
  const body = profileBody(profiles, rest, converted, failure)
  if (body !== undefined && !body.ok) return body
  const model = await planFacts(home, rest.config.model.default, converted, failure)
  if (model !== undefined && !model.ok) return model
  const profile =
    body && chooseProfile(profiles, slot, guardProfileWrite(`${slot}-migrated`.slice(0, 32), body.value, runnerKeys))
  return ok({
    slot,
    file,
    text: text.value,
    moved: converted.moved,
    guarded: guardSlotWrite(profile === undefined ? converted.rest : { ...converted.rest, profile: profile.name }, {
      file,
      name: slot,
      source: 'import',
    }),
    profile,
    model: model?.value,
  })
}

/** What the new profile says: what the slot would have run, with the moved keys over it. Undefined = nothing is moved to a profile. */
function profileBody(
  profiles: ReadonlyMap<string, Profile>,
  { config }: GuardedSlot,
  { profile: keys, flags }: ConvertedSlot,
  failure: (key: string, message: string) => ConfigMistakeRow,
): Result<Readonly<Record<string, unknown>>, readonly ConfigMistakeRow[]> | undefined {
  if (Object.keys(keys).length === 0 && flags.length === 0) return undefined
  const name = config.profile ?? defaultProfileOf(config.type)
  const base = profiles.get(name)
  if (base === undefined)
    return err([failure('profile', `there is no profile "${name}" to start from: name one that exists`)])
  const words: string[] = []
  for (const group of flags) {
    const split = flagWords({ flags: typeof group === 'string' ? group : [...group] })
    if (!split.ok) return err([failure('server.extra_args', split.error)])
    words.push(...split.value)
  }
  const all = [...base.flags, ...words]
  return ok({ ...base.body, ...keys, ...(all.length === 0 ? {} : { flags: all }), cloned_from: name })
}

/** What goes to the row of the bound model; undefined = nothing. */
async function planFacts(
  home: Home,
  id: string,
  { model }: ConvertedSlot,
  failure: (key: string, message: string) => ConfigMistakeRow,
): Promise<Result<{ readonly id: string; readonly facts: ModelFacts }, readonly ConfigMistakeRow[]> | undefined> {
  const keys = Object.keys(model).join(', ')
  if (keys === '') return undefined
  if (id === '')
    return err([failure(keys, 'is a fact of a model, and the slot binds none: move it to models.toml by hand')])
  const facts = modelFactsSchema.safeParse(model)
  if (!facts.success) {
    return err(facts.error.issues.map(({ path, message }) => failure(path.join('.'), `${message}: move it by hand`)))
  }
  mergedFacts(id, (await readModelRows(home)).get(id), facts.data)
  return ok({ id, facts: facts.data })
}

/** The first free name, or one that says the same already: a run that was cut off is taken up again. */
function chooseProfile(profiles: ReadonlyMap<string, Profile>, slot: string, body: ProfileBody) {
  for (let n = 1; ; n++) {
    const end = n === 1 ? '-migrated' : `-migrated-${n}`
    const name = `${slot.slice(0, 32 - end.length)}${end}`
    const known = profiles.get(name)
    if (known === undefined) return { name, body, isThere: false }
    if (isSameData(known.body, body)) return { name, body, isThere: true }
  }
}

async function carryOut(home: Home, plan: Plan): Promise<Migration['migrated'][number]> {
  const { profile, model } = plan
  // First what the slot will name, then the slot: cut off in between, the slot is as it was.
  if (profile !== undefined && !profile.isThere) {
    await writeProfiles(home, (profiles) => {
      const known = profiles.get(profile.name)
      if (known !== undefined && !isSameData(known.body, profile.body)) {
        throw new ChangedMeanwhile(`profile "${profile.name}" was made by someone else`)
      }
      return { set: { [profile.name]: profile.body } }
    })
  }
  if (model !== undefined) {
    await writeModelRows(home, (rows) => ({ [model.id]: mergedFacts(model.id, rows.get(model.id), model.facts) }))
  }
  const backup = await withWriteLock(home, async () => {
    const now = await readConfigText(plan.file)
    if (now === 'absent' || !now.ok || now.value !== plan.text) {
      throw new ChangedMeanwhile('the file was changed by someone else')
    }
    const copy = await backUp(plan.file)
    await writeSlotFile(home, plan.guarded)
    return copy
  })
  return { file: plan.file, backup, profile: profile?.name ?? null, moved: [...plan.moved] }
}

function mergedFacts(id: string, row: ModelFacts | undefined, facts: ModelFacts): ModelFacts {
  if (row === undefined) {
    throw Hal0Error.of('model.not_found', `models.toml has no model "${id}" to take ${Object.keys(facts).join(', ')}`)
  }
  for (const [key, value] of Object.entries(facts)) {
    const known = Object.entries(row).find(([name]) => name === key)?.[1]
    if (known === undefined || isSameData(known, value)) continue
    throw Hal0Error.of('slot.unconverted', `model "${id}" has another ${key} in models.toml: decide which is right`, {
      param: key,
    })
  }
  return { ...row, ...facts }
}
