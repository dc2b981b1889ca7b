import type { ProfileBody } from '../../contract/profile.ts'
import type { Home } from '../../files/home.ts'
import type { Log } from '../../kernel/log.ts'
import { withWriteLock } from '../home/write-lock.ts'
import { isTable } from '../toml/rules/table.ts'
import { readTomlData } from '../toml/toml-data.ts'
import { writeToml } from '../toml/write-toml.ts'
import { type Profile, profilesFilePath, readProfiles, readProfilesFile, withSpeculation } from './profiles-file.ts'

/** What a writer decided: bodies to put in place whole, or a profile to take out. */
export type ProfileEdit = { readonly set: Readonly<Record<string, ProfileBody>> } | { readonly remove: string }

/**
 * The only door to profiles.toml: `decide` sees the profiles as they are while nobody else writes. A file with mistakes is never
 * written over. Errors: `config.invalid`, and those of `decide`.
 */
export function writeProfiles(
  home: Home,
  decide: (profiles: ReadonlyMap<string, Profile>) => ProfileEdit | Promise<ProfileEdit>,
): Promise<void> {
  return withWriteLock(home, async () => {
    const edit = await decide(await readProfiles(home))
    const { text, data } = await readTomlData(profilesFilePath(home))
    const rows: Record<string, unknown> = isTable(data['profiles']) ? { ...data['profiles'] } : {}
    if ('remove' in edit) delete rows[edit.remove]
    else Object.assign(rows, edit.set)
    await writeToml(profilesFilePath(home), text, { ...data, profiles: isEmpty(rows) ? undefined : rows })
  })
}

/**
 * Writes `mtp` of profiles.toml as `speculation`, once (true → auto, false → off), and answers the profiles that were changed. A file
 * with mistakes is left alone: whoever reads it tells them. Source: SPEC 3. Errors: those of the disk.
 */
export function rewriteRetiredProfileKeys(home: Home, log: Log): Promise<readonly string[]> {
  return withWriteLock(home, async () => {
    const outcome = await readProfilesFile(home)
    if (outcome === 'absent' || !outcome.ok) return []
    const retired = Object.entries(outcome.value.profiles).filter(([, body]) => body.mtp !== undefined)
    if (retired.length === 0) return []
    const file = profilesFilePath(home)
    const { text, data } = await readTomlData(file)
    const rewritten = retired.map(([name, { mtp, ...body }]) => [name, withSpeculation(body, mtp)] as const)
    const rows = isTable(data['profiles']) ? data['profiles'] : {}
    await writeToml(file, text, { ...data, profiles: { ...rows, ...Object.fromEntries(rewritten) } })
    const profiles = rewritten.map(([name]) => name)
    log.info({ file, profiles }, 'The key mtp of these profiles was rewritten as speculation.')
    return profiles
  })
}

function isEmpty(rows: object): boolean {
  return Object.keys(rows).length === 0
}
