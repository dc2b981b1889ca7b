import type { ReseedResult } from '../../contract/slot-config.ts'
import type { Home } from '../../files/home.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { isSelfManagedRunner } from '../../runners/rules/service-keys.ts'
import { withWriteLock } from '../home/write-lock.ts'
import type { Profiles } from '../profiles/profiles.ts'
import { SEED_SLOT_NAMES } from '../rules/names.ts'
import { checkSlotRefs } from './check-slot-refs.ts'
import { chooseSeedWindow } from './rules/choose-seed-window.ts'
import { isSeedSlot, SEED_SLOTS, type SeedSlotName, seedSlotText } from './rules/seed-slot-table.ts'
import { readSeedRecord, updateSeedRecord, without } from './seed-record.ts'
import { listSlotFiles, slotFilePath } from './slot-file.ts'
import { type GuardedSlot, guardSlotText } from './slot-gate.ts'
import { writeSlotFile } from './write-slot.ts'

export interface SeedDeps {
  readonly home: Home
  /** Keys of the runners that this build has. */
  readonly runnerKeys: () => readonly string[]
  /** Is the program of this runner installed? Absent = each is. Never rejects. */
  readonly hasProgram?: (runner: string) => Promise<boolean>
  /** Of the whole machine. */
  readonly memoryBytes: number
  readonly profiles: Pick<Profiles, 'show' | 'create'>
}

/** What is wanted: every seed, but those that were deleted; these by name; or really every one. */
export type SeedWish =
  | { readonly kind: 'all' | 'reseed' }
  | { readonly kind: 'named'; readonly names: readonly string[] }

type Outcome =
  | { readonly kind: 'created' | 'kept'; readonly name: string }
  | { readonly kind: 'skipped'; readonly name: string; readonly reason: string }

/** Passed the gate, not yet written. */
interface Planned {
  readonly kind: 'planned'
  readonly name: string
  readonly slot: GuardedSlot
}

/**
 * Writes the seed slots that are missing, without a model. What a person deleted stays away unless it is asked for, by name or with
 * `reseed`. Takes the write lock: the caller does not hold it. Errors: `slot.not_found` (no such seed; nothing is written), `config.invalid`.
 * Source: SPEC 3.
 */
export async function seedSlots(deps: SeedDeps, wish: SeedWish): Promise<ReseedResult> {
  const names = wish.kind === 'named' ? wish.names.map(requireSeed) : SEED_SLOT_NAMES
  const deleted = wish.kind === 'all' ? ((await readSeedRecord(deps.home))?.tombstones ?? []) : []
  const plans: (Planned | Outcome)[] = []
  for (const name of new Set(names)) {
    const reason = `it was deleted; \`hal0 slot reseed ${name}\` brings it back`
    plans.push(deleted.includes(name) ? { kind: 'skipped', name, reason } : await planSeed(deps, name))
  }
  // Not before: making a profile takes the lock itself.
  const outcomes = await withWriteLock(deps.home, async () => {
    const done: Outcome[] = []
    for (const plan of plans) done.push(plan.kind === 'planned' ? await writeSeed(deps, plan) : plan)
    return done
  })
  const namesOf = (kind: Outcome['kind']) => outcomes.filter((one) => one.kind === kind).map(({ name }) => name)
  const skipped = outcomes.flatMap((one) => (one.kind === 'skipped' ? [{ name: one.name, reason: one.reason }] : []))
  return { created: namesOf('created'), kept: namesOf('kept'), skipped }
}

/**
 * The first start of a home: makes its seed slots. A home that has slot files when hal0 first sees it is left as it is, for good. What a
 * kill interrupted is finished by the next start. Undefined = nothing was to do. Takes the write lock. Errors: `config.invalid`, and the
 * system's own where the home's settings cannot be written. Source: SPEC 3.
 */
export async function seedHome(deps: SeedDeps): Promise<ReseedResult | undefined> {
  const { home } = deps
  const pending = await withWriteLock(home, async () => {
    const record = await readSeedRecord(home)
    if (record !== undefined) return record.pending
    const { names, unfit } = await listSlotFiles(home)
    const first = names.length + unfit.length > 0 ? [] : [...SEED_SLOT_NAMES]
    await updateSeedRecord(home, (none) => ({ ...none, pending: first }))
    return first
  })
  if (pending.length === 0) return undefined
  // A record of a later hal0 may name seeds that this one does not have.
  const result = await seedSlots(deps, { kind: 'named', names: pending.filter(isSeedSlot) })
  await withWriteLock(home, () => updateSeedRecord(home, (record) => ({ ...record, pending: [] })))
  return result
}

function requireSeed(name: string): SeedSlotName {
  if (isSeedSlot(name)) return name
  throw Hal0Error.of('slot.not_found', `there is no seed slot "${name}"; there are ${SEED_SLOT_NAMES.join(', ')}`, {
    param: 'names',
    details: { slot: name, remedy: `Make a slot of your own: \`hal0 slot create NAME --model ID\`.` },
  })
}

async function planSeed(deps: SeedDeps, name: SeedSlotName): Promise<Planned | Outcome> {
  const { home, runnerKeys } = deps
  const seed = SEED_SLOTS[name]
  if (await hasFile(home, name)) return { kind: 'kept', name }
  if (!runnerKeys().includes(seed.runner)) {
    return { kind: 'skipped', name, reason: `its runner "${seed.runner}" is not part of this hal0` }
  }
  if (seed.needsProgram === true && (await deps.hasProgram?.(seed.runner)) === false) {
    const again = `once it is, \`hal0 slot reseed ${name}\` makes the slot`
    return { kind: 'skipped', name, reason: `the program of its runner "${seed.runner}" is not installed; ${again}` }
  }
  const text = seedSlotText(name, await profileFor(deps, seed.profile), isSelfManagedRunner(seed.runner))
  return { kind: 'planned', name, slot: guardSlotText(text, { file: slotFilePath(home, name), name, source: 'seed' }) }
}

/** The caller holds the write lock. */
async function writeSeed({ home, runnerKeys }: SeedDeps, { name, slot }: Planned): Promise<Outcome> {
  if (await hasFile(home, name)) return { kind: 'kept', name }
  try {
    await checkSlotRefs({ home, knownRunners: runnerKeys }, slot, new Set(['name', 'profile', 'binary']))
  } catch (thrown) {
    if (!(thrown instanceof Hal0Error && thrown.code === 'slot.exists')) throw thrown
    return { kind: 'skipped', name, reason: thrown.message }
  }
  await writeSlotFile(home, slot)
  await updateSeedRecord(home, (record) => ({
    seeded: [...without(record.seeded, name), name],
    tombstones: without(record.tombstones, name),
    pending: without(record.pending, name),
  }))
  return { kind: 'created', name }
}

/** The seed's own profile, or `<profile>-ctx` with a smaller window where this machine cannot afford it; one that exists is kept. */
async function profileFor({ profiles, memoryBytes }: SeedDeps, profile: string): Promise<string> {
  const wantedTokens = (await profiles.show(profile)).ctx_size
  if (wantedTokens === null) return profile
  const ctxTokens = chooseSeedWindow(memoryBytes, wantedTokens)
  if (ctxTokens === wantedTokens) return profile
  const name = `${profile}-ctx`
  try {
    await profiles.create({
      name,
      from: profile,
      ctx_size: ctxTokens,
      intent: `As ${profile}, with a window of ${ctxTokens} tokens for the memory of this machine.`,
    })
  } catch (thrown) {
    if (!(thrown instanceof Hal0Error && thrown.code === 'profile.exists')) throw thrown
  }
  return name
}

async function hasFile(home: Home, name: string): Promise<boolean> {
  return (await listSlotFiles(home)).names.includes(name)
}
