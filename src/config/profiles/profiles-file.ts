import { join } from 'node:path'
import { z } from 'zod'
import { type ProfileBody, profileBodyShape, profileNameSchema } from '../../contract/profile.ts'
import type { SlotType } from '../../contract/slot-row.ts'
import type { Home } from '../../files/home.ts'
import type { LaunchProfile } from '../../launch/rules/launch-request.ts'
import { splitWords } from '../../launch/split-words.ts'
import { type ConfigMistake, configError } from '../toml/mistake.ts'
import { type ReadOutcome, readTomlFile } from '../toml/toml-file.ts'
import { isSeedProfile, SEED_PROFILES, type SeedProfileName } from './seed-profiles.ts'

/** On disk `mtp` is still read: what it said becomes `speculation` (`rewriteRetiredProfileKeys`). Source: SPEC 3. */
const diskBodySchema = z.strictObject({ ...profileBodyShape, mtp: z.boolean('expected true or false').optional() })

/** `etc/hal0/profiles.toml`: the custom profiles, one `[profiles.<name>]` table each. Source: SPEC 2, 3. */
export const profilesFileSchema = z.strictObject({
  profiles: z
    .record(
      profileNameSchema.refine((name) => !isSeedProfile(name), {
        error: ({ input }) =>
          `"${String(input)}" is the name of a built-in profile, which cannot be changed; give this one another name`,
      }),
      diskBodySchema,
    )
    .default({}),
})
export type ProfilesFile = z.output<typeof profilesFileSchema>

/** A profile that a slot can run. */
export interface Profile {
  readonly name: string
  /** Built in and immutable. */
  readonly isSeed: boolean
  readonly body: ProfileBody
  /** `body.flags` as words. */
  readonly flags: readonly string[]
}

export function profilesFilePath(home: Home): string {
  return join(home.etc, 'profiles.toml')
}

/** The custom profiles as they stand in the file, with every mistake of the file; flags are not screened here. */
export async function readProfilesFile(home: Home): Promise<ReadOutcome<ProfilesFile>> {
  const file = profilesFilePath(home)
  const outcome = await readTomlFile(file, profilesFileSchema)
  if (outcome === 'absent' || !outcome.ok) return outcome
  const mistakes = Object.entries(outcome.value.profiles).flatMap(([name, body]): ConfigMistake[] => {
    const words = flagWords(body)
    return words.ok ? [] : [{ file, keyPath: `profiles.${name}.flags`, expected: words.error }]
  })
  return mistakes.length === 0 ? outcome : { ok: false, error: mistakes }
}

/**
 * Every profile by name, the built-in ones first. One whose flags are not allowed is there: a launch leaves such flags out.
 * Errors: `config.invalid` (every mistake of profiles.toml).
 */
export async function readProfiles(home: Home): Promise<ReadonlyMap<string, Profile>> {
  const custom = await readProfilesFile(home)
  if (custom !== 'absent' && !custom.ok) throw configError(custom.error)
  const rows = custom === 'absent' ? {} : custom.value.profiles
  const profiles = [
    ...Object.entries(SEED_PROFILES).map(([name, body]) => profileOf(name, body, true)),
    ...Object.entries(rows).map(([name, { mtp, ...body }]) => profileOf(name, withSpeculation(body, mtp), false)),
  ]
  return new Map(profiles.map((profile) => [profile.name, profile]))
}

/**
 * One profile; undefined = there is none of that name. A built-in one is there whatever profiles.toml holds.
 * Errors: `config.invalid`.
 */
export async function readProfile(home: Home, name: string): Promise<Profile | undefined> {
  return isSeedProfile(name) ? profileOf(name, SEED_PROFILES[name], true) : (await readProfiles(home)).get(name)
}

/** What `mtp` said, in today's words; `speculation` beside it wins. */
export function withSpeculation(body: ProfileBody, mtp: boolean | undefined): ProfileBody {
  if (mtp === undefined || body.speculation !== undefined) return body
  return { ...body, speculation: mtp ? 'auto' : 'off' }
}

/** Flags as words. The error says what cannot be split and where. Source: SPEC 9. */
export function flagWords(body: Pick<ProfileBody, 'flags'>): ReturnType<typeof splitWords> {
  if (typeof body.flags === 'string') return splitWords(body.flags)
  return { ok: true, value: body.flags ?? [] }
}

function profileOf(name: string, body: ProfileBody, isSeed: boolean): Profile {
  const words = flagWords(body)
  return { name, isSeed, body, flags: words.ok ? words.value : [] }
}

/** Which profile does a slot run that names none? Source: SPEC 3. */
export function defaultProfileOf(type: SlotType): SeedProfileName {
  switch (type) {
    case 'llm':
      return 'chat'
    case 'embedding':
      return 'embedding'
    case 'reranking':
      return 'reranking'
    case 'tts':
      return 'kokoro'
    case 'image':
      return 'comfyui'
    case 'transcription':
      return 'moonshine'
  }
}

/** The profile as a launch takes it. */
export function launchProfileOf({ name, body, flags }: Profile): LaunchProfile {
  return {
    name,
    flags,
    ctxTokens: body.ctx_size,
    enableThinking: body.enable_thinking,
    reasoningEffort: body.reasoning_effort,
    reasoningBudget: body.reasoning_budget,
    vision: body.vision,
    speculation: body.speculation,
  }
}
