import { createHash } from 'node:crypto'
import type { ProfileBody, ProfileEnvelope, ProfileImportResult } from '../../contract/profile.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import type { Profile } from './profiles-file.ts'
import { canonicalJson, definedBody, hostPaths } from './rules/profile-flags.ts'

/** The profiles as one self-contained file for another machine; words that name a place of this one are told in `notes`. */
export function makeEnvelope(chosen: readonly Profile[], version: string): ProfileEnvelope {
  const profiles = Object.fromEntries(chosen.map(({ name, body }) => [name, definedBody(body)]))
  const notes = chosen.flatMap(({ name, flags }) =>
    hostPaths(flags).map((word) => `profile ${name}: "${word}" names a place of this machine; another may not have it`),
  )
  return {
    kind: 'hal0.profiles',
    schema_version: 1,
    hal0_version: version,
    profiles,
    sha256: checksumOf(profiles),
    ...(notes.length === 0 ? {} : { notes }),
  }
}

/**
 * The bodies of an envelope, each through `guard`. Errors: `validation.invalid` (the checksum differs), those of `guard`.
 */
export function openEnvelope(
  envelope: ProfileEnvelope,
  guard: (name: string, body: ProfileBody) => ProfileBody,
): ReadonlyMap<string, ProfileBody> {
  const found = checksumOf(envelope.profiles)
  if (found !== envelope.sha256) {
    throw Hal0Error.of('validation.invalid', `the profiles were changed after the export: their SHA-256 is ${found}`, {
      param: 'envelope.sha256',
      details: {
        expected: envelope.sha256,
        found,
        remedy:
          'Export them again with `hal0 profile export`, or put the sum that is named into sha256 if you made the change.',
      },
    })
  }
  return new Map(Object.entries(envelope.profiles).map(([name, body]) => [name, guard(name, body)]))
}

/** What does an import write, and what does it leave? Errors: `profile.immutable` (overwriting a built-in one). */
export function planImport(
  bodies: ReadonlyMap<string, ProfileBody>,
  local: ReadonlyMap<string, Profile>,
  overwrite: boolean,
): { readonly set: Readonly<Record<string, ProfileBody>>; readonly result: ProfileImportResult } {
  const result: ProfileImportResult = { created: [], overwritten: [], skipped: [] }
  const set: Record<string, ProfileBody> = {}
  for (const [name, body] of bodies) {
    const mine = local.get(name)
    if (mine?.isSeed === true && overwrite) {
      throw Hal0Error.of('profile.immutable', `the import would overwrite "${name}", which is built in`, {
        details: { profile: name, remedy: 'Import without overwrite, or give that profile another name in the file.' },
      })
    }
    if (mine !== undefined && !overwrite) {
      result.skipped.push({ name, reason: mine.isSeed ? 'a built-in profile has this name' : 'there is one already' })
      continue
    }
    set[name] = body
    if (mine === undefined) result.created.push(name)
    else result.overwritten.push(name)
  }
  return { set, result }
}

function checksumOf(profiles: ProfileEnvelope['profiles']): string {
  return createHash('sha256').update(canonicalJson(profiles)).digest('hex')
}
