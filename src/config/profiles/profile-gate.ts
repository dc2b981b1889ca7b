import { type ProfileBody, profileBodySchema, profileNameSchema } from '../../contract/profile.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { listNames } from '../../kernel/list-names.ts'
import { selectNearest } from '../../kernel/nearest-word.ts'
import { findFlagMistake, screenFlags } from '../../launch/rules/screen-flags.ts'
import { type DataMistake, findSchemaMistakes } from '../toml/rules/schema-mistakes.ts'
import { isTable } from '../toml/rules/table.ts'
import { flagWords } from './profiles-file.ts'
import { definedBody, dialectOf } from './rules/profile-flags.ts'

/** Profiles are found below `/api/profiles/`, where these words do something else. */
const RESERVED_NAMES: readonly string[] = ['export', 'import']

function reservedText(name: string): string {
  return `"${name}" is reserved: /api/profiles/${name} does something else; give the profile another name`
}

interface FieldMistake {
  readonly key: string
  readonly message: string
}

/**
 * The gate that every profile passes before it is written: keys, values, runner, flags. Answers the body without undefined keys.
 * Source: SPEC 3. Errors: `validation.invalid` (every mistake of keys and values, `mtp` among them), `profile.flag_denied` (every
 * refused flag with its owner).
 */
export function guardProfileWrite(name: string, body: unknown, knownRunners: readonly string[]): ProfileBody {
  refuseRetiredKeys(body)
  const named = profileNameSchema.safeParse(name)
  const parsed = profileBodySchema.safeParse(body)
  const mistakes: FieldMistake[] = [
    ...(named.error?.issues.map(({ message }) => ({ key: 'name', message })) ?? []),
    ...(RESERVED_NAMES.includes(name) ? [{ key: 'name', message: reservedText(name) }] : []),
    ...(parsed.success ? [] : findSchemaMistakes(profileBodySchema, parsed.error).map(fieldMistake)),
  ]
  if (!parsed.success) throw invalidProfile(name, mistakes)
  const words = flagWords(parsed.data)
  if (!words.ok) mistakes.push({ key: 'flags', message: words.error })
  const { runner } = parsed.data
  const misread = words.ok ? findFlagMistake(words.value, dialectOf(runner)) : undefined
  if (misread !== undefined) mistakes.push({ key: 'flags', message: misread })
  if (runner !== undefined && !knownRunners.includes(runner)) {
    const nearest = selectNearest(runner, knownRunners)
    const hint = nearest === undefined ? `there are ${listNames(knownRunners)}` : `did you mean ${nearest}?`
    mistakes.push({ key: 'runner', message: `there is no runner "${runner}"; ${hint}` })
  }
  if (mistakes.length > 0) throw invalidProfile(name, mistakes)
  if (words.ok) refuseOwnedFlags(name, words.value, runner)
  return definedBody(parsed.data)
}

/**
 * Refuses keys that profiles once had, in a body as it came. Call it before a schema that only knows today's keys.
 * Errors: `validation.invalid` naming the key that took its place.
 */
export function refuseRetiredKeys(body: unknown): void {
  if (!isTable(body) || !Object.hasOwn(body, 'mtp')) return
  const message = '"mtp" is not a key of profiles any more; use speculation = "auto", "off" or "ngram"'
  throw Hal0Error.of('validation.invalid', message, {
    param: 'speculation',
    details: { mistakes: [{ key: 'mtp', message }] },
  })
}

function refuseOwnedFlags(name: string, words: readonly string[], runner: string | undefined): void {
  const refused = screenFlags(words, dialectOf(runner))
  if (refused.length === 0) return
  const said = refused.map(({ flag, detail }) => `${flag}: ${detail}`)
  throw Hal0Error.of('profile.flag_denied', `profile ${name}: flags may not contain ${said.join('; ')}`, {
    param: 'flags',
    details: { profile: name, refused },
  })
}

function invalidProfile(name: string, mistakes: readonly FieldMistake[]): Hal0Error {
  const said = mistakes.map(({ key, message }) => `${key}: ${message}`).join('; ')
  return Hal0Error.of('validation.invalid', `profile ${name}: ${said}`, {
    param: mistakes[0]?.key ?? 'name',
    details: { mistakes },
  })
}

function fieldMistake({ path, expected }: DataMistake): FieldMistake {
  return { key: path.join('.') || 'body', message: expected }
}
