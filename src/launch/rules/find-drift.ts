import type { LaunchPlan } from '../../contract/launch-plan.ts'
import type { Dialect } from '../../contract/runner.ts'
import { dialectOf, keyOfFlag } from './plan-keys.ts'
import { readFlags } from './read-flags.ts'

/** What drift is judged on. Source: SPEC 9 "Drift". */
export const DRIFT_KEYS = ['ctx_size', 'model', 'alias', 'batch', 'ubatch'] as const
/** Told when the live command has nothing of the plan: another program may have taken the process's place. */
export const DRIFT_UNKNOWN = 'unknown'

/**
 * On what does the live process run something else than a start now would? Both commands are read the same way; a wrapper or a loader may
 * stand before the live one. Empty = on nothing; `['unknown']` = no word of the plan stands in the live command. Source: SPEC 9 "Drift".
 */
export function findDrift(liveArgv: readonly string[], fresh: LaunchPlan): readonly string[] {
  const dialect = dialectOf(fresh)
  const live = readKeys(wordsOfPlan(liveArgv, fresh), dialect)
  if (live === undefined) return [DRIFT_UNKNOWN]
  const planned = readKeys(
    fresh.flags.flatMap(({ flag, values }) => (flag === '' ? values : [flag, ...values])),
    dialect,
  )
  return DRIFT_KEYS.filter((key) => live.get(key) !== planned?.get(key))
}

/** The live words after the program of the plan, or from the plan's first flag on where a wrapper runs another program. */
function wordsOfPlan(liveArgv: readonly string[], { command, flags }: LaunchPlan): readonly string[] | undefined {
  const program = liveArgv.indexOf(command[0])
  const isWhole = program !== -1 && command.every((word, at) => liveArgv[program + at] === word)
  if (isWhole) return liveArgv.slice(program + command.length)
  const names = new Set(flags.filter(({ flag }) => flag !== '').map(({ flag }) => flag))
  const positional = flags.find(({ flag }) => flag === '')?.values[0]
  const first = liveArgv.findIndex((word) => names.has(word) || word === positional)
  return first === -1 ? undefined : liveArgv.slice(first)
}

function readKeys(words: readonly string[] | undefined, dialect: Dialect): ReadonlyMap<string, string> | undefined {
  if (words === undefined) return undefined
  const keys = new Map<string, string>()
  for (const [at, { flag, values, known }] of readFlags(words, dialect).entries()) {
    // Only the first word can be a positional model; any other stray word is some value.
    if (flag === '' && at > 0) continue
    const key = keyOfFlag(flag === '' ? '' : known.canonical)
    if (key !== undefined) keys.set(key, values.join(' '))
  }
  return keys
}
