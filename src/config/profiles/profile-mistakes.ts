import type { ConfigMistakeRow } from '../../contract/config-report.ts'
import type { Home } from '../../files/home.ts'
import { listNames } from '../../kernel/list-names.ts'
import { selectNearest } from '../../kernel/nearest-word.ts'
import { findFlagMistake, screenFlags } from '../../launch/rules/screen-flags.ts'
import { mistakeRow, readHomeFile } from '../home/home-file.ts'
import { tableNames } from '../slots/rules/slot-outline.ts'
import { isTable } from '../toml/rules/table.ts'
import { flagWords, profilesFilePath, profilesFileSchema } from './profiles-file.ts'
import { dialectOf } from './rules/profile-flags.ts'
import { SEED_PROFILES } from './seed-profiles.ts'

/** What `config validate` says about profiles.toml. */
export interface ProfileFindings {
  readonly files: readonly string[]
  readonly mistakes: readonly ConfigMistakeRow[]
  readonly warnings: readonly ConfigMistakeRow[]
  /** Every profile that a slot may name, the built-in ones first; undefined = it cannot be told. */
  readonly names: readonly string[] | undefined
  /** Profile → the runner that it names, where it names one. */
  readonly runners: ReadonlyMap<string, string>
}

/**
 * Every mistake of profiles.toml: keys and values, words that cannot be split, flags that a profile may not set (a launch leaves those
 * out), unknown runners. Never rejects. Source: SPEC 3.
 */
export async function findProfileMistakes(home: Home, runnerKeys: readonly string[]): Promise<ProfileFindings> {
  const { file, isThere, data, mistakes } = await readHomeFile(profilesFilePath(home), profilesFileSchema)
  const rows = Object.entries(isTable(data?.['profiles']) ? data['profiles'] : {})
  const tables = rows.filter((row): row is [string, Record<string, unknown>] => isTable(row[1]))
  return {
    files: isThere ? [file] : [],
    mistakes: [...mistakes, ...tables.flatMap(([name, body]) => findBodyMistakes(file, name, body, runnerKeys))],
    warnings: tables
      .filter(([, body]) => typeof body['mtp'] === 'boolean')
      .map(([name]) =>
        mistakeRow(file, `profiles.${name}.mtp`, 'mtp is speculation now: hal0 rewrites it at the next start'),
      ),
    runners: new Map([
      ...Object.entries(SEED_PROFILES).flatMap(([name, { runner }]) => pair(name, runner)),
      ...tables.flatMap(([name, { runner }]) => pair(name, runner)),
    ]),
    names: data && [...new Set([...Object.keys(SEED_PROFILES), ...tableNames(data, 'profiles')])],
  }
}

function findBodyMistakes(
  file: string,
  name: string,
  body: Readonly<Record<string, unknown>>,
  runnerKeys: readonly string[],
): readonly ConfigMistakeRow[] {
  const found: ConfigMistakeRow[] = []
  const key = `profiles.${name}`
  const runner = typeof body['runner'] === 'string' ? body['runner'] : undefined
  if (runner !== undefined && !runnerKeys.includes(runner)) {
    const nearest = selectNearest(runner, runnerKeys)
    const hint = nearest === undefined ? `there are ${listNames(runnerKeys)}` : `did you mean ${nearest}?`
    found.push(mistakeRow(file, `${key}.runner`, `there is no runner "${runner}"; ${hint}`))
  }
  const flags = readFlags(body['flags'])
  if (flags === undefined) return found
  const words = flagWords({ flags })
  if (!words.ok) return [...found, mistakeRow(file, `${key}.flags`, words.error)]
  for (const { flag, detail } of screenFlags(words.value, dialectOf(runner))) {
    found.push(mistakeRow(file, `${key}.flags`, `${flag}: ${detail}`, 'profile.flag_denied'))
  }
  const misread = findFlagMistake(words.value, dialectOf(runner))
  if (misread !== undefined) found.push(mistakeRow(file, `${key}.flags`, misread))
  return found
}

function readFlags(value: unknown): string | string[] | undefined {
  if (typeof value === 'string') return value
  return Array.isArray(value) && value.every((word) => typeof word === 'string') ? value : undefined
}

function pair(name: string, runner: unknown): (readonly [string, string])[] {
  return typeof runner === 'string' ? [[name, runner]] : []
}
