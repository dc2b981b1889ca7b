import { type Command, Option } from 'commander'
import { DEVICES } from '../contract/slot-row.ts'
import { UsageError } from './cli-error.ts'
import { emptyPayload, type Payload, putAt, splitPair, typedValue } from './keyed-values.ts'
import { collect, numberOrNothing } from './option-parsers.ts'

const ANY = Number.MAX_SAFE_INTEGER

/** The keys of a lane as options of `lane create` and `lane edit`. "" and null clear a key. */
export interface LaneKeyOptions {
  readonly device?: string
  readonly gpus?: string
  readonly model?: string
  readonly profile?: string
  readonly runner?: string
  readonly threads?: number | null
  readonly minPreload?: number | null
  readonly approval?: string
  readonly allowExclusive?: boolean
  readonly releaseUnused?: number | null
  readonly minMinutes?: number | null
  readonly maxHours?: number | null
  readonly maxDaysAhead?: number | null
  readonly maxOpen?: number | null
  readonly maxHoursPerWeek?: number | null
  readonly set?: readonly string[]
  readonly unset?: readonly string[]
}

/** Which key of the lane's file does an option set? Source: SPEC 12, 13 `[limits]`. */
const KEYS: readonly (readonly [keyof LaneKeyOptions, string])[] = [
  ['device', 'device'],
  ['profile', 'default.profile'],
  ['runner', 'runner'],
  ['threads', 'threads'],
  ['minPreload', 'min_preload_s'],
  ['approval', 'approval'],
  ['allowExclusive', 'allow_exclusive'],
  ['releaseUnused', 'no_show_minutes'],
  ['minMinutes', 'limits.min_minutes'],
  ['maxHours', 'limits.max_hours'],
  ['maxDaysAhead', 'limits.max_days_ahead'],
  ['maxOpen', 'limits.max_open_per_user'],
  ['maxHoursPerWeek', 'limits.max_hours_per_week'],
]

/** The option for a key of the lane file that was typed like one: `--no-show` (`no_show_minutes`) is `--release-unused`. Undefined = for none. Pure. */
export function laneOptionFor(typed: string): string | undefined {
  const words = typed.replace(/^--/, '').replaceAll('-', '_')
  const own = KEYS.find(([, key]) => (key.split('.').at(-1) ?? '').startsWith(words))?.[0]
  return own === undefined ? undefined : `--${own.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

/** Adds the options of `LaneKeyOptions`, but `--unset`. */
export function addLaneKeyOptions(command: Command): Command {
  const number = (flags: string, text: string, low: number) =>
    command.addOption(new Option(flags, text).argParser(numberOrNothing(low, ANY)))
  command.option('--device <device>', `${DEVICES.join(', ')} (default: cpu)`)
  command.option('--gpus <numbers>', 'the GPUs it owns, for example 0,1')
  command.option('--model <id>', 'what it runs when nobody has booked it (`hal0 model list`)')
  command.option('--profile <name>', 'with this profile (default: the one of the model)')
  command.option('--runner <runner>', 'the engine build (`hal0 runner list`; default: by device)')
  number('--threads <n>', 'threads on the CPU, where several lanes share it; 0 = the engine decides (default: 0)', 0)
  number('--min-preload <seconds>', 'load at least so long before a booking starts (default: 180)', 0)
  command.option('--approval <none|required>', 'whether an admin has to approve bookings (default: none)')
  command.option('--allow-exclusive', 'it may be booked empty, for programs of one’s own')
  number('--release-unused <minutes>', 'release a booking that nobody uses for so long; 0 = never (default: 0)', 0)
  number('--min-minutes <n>', 'shortest booking (default: 15)', 0)
  number('--max-hours <n>', 'longest booking (default: 24)', 1)
  number('--max-days-ahead <n>', 'how far ahead a booking may start (default: 30)', 0)
  number('--max-open <n>', 'bookings that a person may have ahead (default: 5)', 1)
  number('--max-hours-per-week <n>', 'hours of a person in a week; 0 = no limit (default: 0)', 0)
  command.option('--set <key=value>', 'any key of the lane file, for example limits.max_hours=1.5', collect)
  return command
}

/** What the options say, as keys of a lane file; null = delete the key. Errors: UsageError. */
export function lanePayloadOf(options: LaneKeyOptions): Payload {
  const payload = emptyPayload()
  // Without a model there is no default, whatever its profile was.
  if (options.model === '') payload['default'] = null
  else if (options.model !== undefined) putAt(payload, 'default.model', options.model)
  for (const [option, key] of KEYS) {
    const value = options[option]
    if (value !== undefined) putAt(payload, key, value === '' ? null : value)
  }
  if (options.gpus !== undefined) payload['gpus'] = gpusOf(options.gpus)
  for (const text of options.set ?? []) {
    const [key, value] = splitPair('--set', text)
    putAt(payload, key, typedValue(value))
  }
  for (const key of options.unset ?? []) putAt(payload, key, null)
  return payload
}

/** "" = none. */
function gpusOf(text: string): readonly number[] {
  const words = text.split(',').map((word) => word.trim())
  if (text.trim() === '') return []
  if (words.every((word) => /^\d{1,3}$/.test(word))) return words.map(Number)
  throw new UsageError(`--gpus ${JSON.stringify(text)} is no list of GPU numbers.`, 'Write --gpus 0,1.')
}

/** Dotted names of the keys that a patch sets, in its order. */
export function keysOf(patch: Payload, above = ''): string[] {
  return Object.entries(patch).flatMap(([key, value]) =>
    isTable(value) ? keysOf(value, `${above}${key}.`) : [above + key],
  )
}

/** Is it a table of a file, not a value or a list? */
export function isTable(value: unknown): value is Payload {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
