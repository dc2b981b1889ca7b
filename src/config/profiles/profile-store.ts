import type {
  ProfileCreate,
  ProfileEnvelope,
  ProfileImport,
  ProfileImportResult,
  ProfilePatch,
  ProfileRow,
} from '../../contract/profile.ts'
import type { Home } from '../../files/home.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { listNames } from '../../kernel/list-names.ts'
import { selectNearest } from '../../kernel/nearest-word.ts'
import { withoutUndefined } from '../../kernel/without-undefined.ts'
import { readLaneUses } from '../lanes/lane-uses.ts'
import { readSlotUses, type SlotUse } from '../slots/slot-uses.ts'
import { guardProfileWrite, refuseRetiredKeys } from './profile-gate.ts'
import { makeEnvelope, openEnvelope, planImport } from './profile-transfer.ts'
import type { Profiles } from './profiles.ts'
import { type Profile, readProfile, readProfiles } from './profiles-file.ts'
import { writeProfiles } from './write-profiles.ts'

export interface ProfileStoreDeps {
  readonly home: Home
  /** Keys of the runners of this installation, the custom ones included. */
  knownRunners(): readonly string[]
  /** hal0's own version, for envelopes. */
  readonly version: string
}

/** The profiles of a home. Every write happens under the write lock and passes `guardProfileWrite`. Source: SPEC 2, 3. */
export function createProfiles(deps: ProfileStoreDeps): Profiles {
  const { home } = deps
  const show = async (name: string): Promise<ProfileRow> => {
    const [profile, uses] = await Promise.all([readProfile(home, name), readSlotUses(home)])
    return rowOf(profile ?? findProfile(await readProfiles(home), name), uses)
  }

  return {
    async list() {
      const [profiles, uses] = await Promise.all([readProfiles(home), readSlotUses(home)])
      return [...profiles.values()].toSorted(inListOrder).map((profile) => rowOf(profile, uses))
    },

    show,

    async create(input: ProfileCreate) {
      refuseRetiredKeys(input)
      const { name, from, ...own } = input
      await writeProfiles(home, (profiles) => {
        const taken = profiles.get(name)
        if (taken !== undefined) throw profileExists(taken)
        const base = from === undefined ? {} : { ...findProfile(profiles, from).body, cloned_from: from }
        return { set: { [name]: guardProfileWrite(name, { ...base, ...withoutUndefined(own) }, deps.knownRunners()) } }
      })
      return show(name)
    },

    async update(name: string, patch: ProfilePatch) {
      refuseRetiredKeys(patch)
      await writeProfiles(home, (profiles) => {
        const body: Record<string, unknown> = { ...customProfile(profiles, name).body }
        for (const [key, value] of Object.entries(withoutUndefined(patch))) {
          if (value === null) delete body[key]
          else body[key] = value
        }
        return { set: { [name]: guardProfileWrite(name, body, deps.knownRunners()) } }
      })
      return show(name)
    },

    async remove(name: string) {
      await writeProfiles(home, async (profiles) => {
        customProfile(profiles, name)
        await refuseInUse(home, name)
        return { remove: name }
      })
    },

    async exportEnvelope(names): Promise<ProfileEnvelope> {
      const profiles = await readProfiles(home)
      const chosen =
        names === undefined
          ? [...profiles.values()].filter(({ isSeed }) => !isSeed)
          : names.map((name) => findProfile(profiles, name))
      return makeEnvelope(chosen, deps.version)
    },

    async importEnvelope({ envelope, overwrite }: ProfileImport): Promise<ProfileImportResult> {
      const bodies = openEnvelope(envelope, (name, body) => guardProfileWrite(name, body, deps.knownRunners()))
      let result: ProfileImportResult | undefined
      await writeProfiles(home, (profiles) => {
        const plan = planImport(bodies, profiles, overwrite === true)
        result = plan.result
        return { set: plan.set }
      })
      return result ?? { created: [], overwritten: [], skipped: [] }
    },
  }
}

/** Errors: `profile.in_use` naming the slots, and the lanes whose default it is. */
async function refuseInUse(home: Home, name: string): Promise<void> {
  const [slotUses, laneUses] = await Promise.all([readSlotUses(home), readLaneUses(home)])
  const slots = slotUses.filter((use) => use.profile === name).map((use) => use.slot)
  const lanes = laneUses.filter((use) => use.profile === name).map((use) => use.lane)
  const [slot] = slots
  const [lane] = lanes
  const users = [
    ...(slot === undefined ? [] : [`slot ${listNames(slots)}`]),
    ...(lane === undefined ? [] : [`lane ${listNames(lanes)} (as its default)`]),
  ]
  if (users.length === 0) return
  const commands = [
    ...(slot === undefined ? [] : [`\`hal0 slot edit ${slot} --profile NAME\``]),
    ...(lane === undefined ? [] : [`\`hal0 lane edit ${lane} --profile NAME\``]),
  ]
  throw Hal0Error.of('profile.in_use', `profile "${name}" is used by ${users.join(' and ')}`, {
    details: { profile: name, slots, lanes, remedy: `Give them another first: ${commands.join(', ')}.` },
  })
}

/** Errors: `profile.not_found` naming the nearest, or what there is. */
function findProfile(profiles: ReadonlyMap<string, Profile>, name: string): Profile {
  const profile = profiles.get(name)
  if (profile !== undefined) return profile
  const known = [...profiles.keys()]
  const nearest = selectNearest(name, known)
  const hint = nearest === undefined ? '' : `; did you mean ${nearest}?`
  throw Hal0Error.of('profile.not_found', `there is no profile "${name}"${hint} (there are ${listNames(known)})`, {
    details: { profile: name, remedy: '`hal0 profile list` shows the names.' },
  })
}

function customProfile(profiles: ReadonlyMap<string, Profile>, name: string): Profile {
  const profile = findProfile(profiles, name)
  if (!profile.isSeed) return profile
  throw Hal0Error.of('profile.immutable', `profile "${name}" is built in and cannot be changed or deleted`, {
    details: {
      profile: name,
      remedy: `Make one of your own from it: \`hal0 profile create NAME --from ${name}\`.`,
    },
  })
}

function profileExists({ name, isSeed }: Profile): Hal0Error {
  const message = isSeed ? `"${name}" is the name of a built-in profile` : `there is a profile "${name}" already`
  const remedy = isSeed
    ? `Choose another name; \`hal0 profile create NAME --from ${name}\` starts from it.`
    : `Choose another name, or change it: \`hal0 profile edit ${name}\`.`
  return Hal0Error.of('profile.exists', message, { param: 'name', details: { profile: name, remedy } })
}

function inListOrder(left: Profile, right: Profile): number {
  if (left.isSeed !== right.isSeed) return left.isSeed ? -1 : 1
  return left.name < right.name ? -1 : 1
}

function rowOf({ name, isSeed, body, flags }: Profile, uses: readonly SlotUse[]): ProfileRow {
  return {
    name,
    seed: isSeed,
    flags: [...flags],
    ctx_size: body.ctx_size ?? null,
    enable_thinking: body.enable_thinking ?? null,
    reasoning_effort: body.reasoning_effort ?? null,
    reasoning_budget: body.reasoning_budget ?? null,
    vision: body.vision ?? null,
    speculation: body.speculation ?? null,
    runner: body.runner ?? null,
    intent: body.intent ?? null,
    cloned_from: body.cloned_from ?? null,
    used_by: uses.filter((use) => use.profile === name).map((use) => use.slot),
  }
}
