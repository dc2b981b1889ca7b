import { Hal0Error } from '../../kernel/errors.ts'
import { selectNearest } from '../../kernel/nearest-word.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import type { LaunchEngine, LaunchRequest, RemovedFlag } from './launch-request.ts'
import { findInHelp, isNegative, lookUpFlag, plainName, tableOf } from './look-up-flag.ts'
import { type LayeredFlag, removedFlag } from './merge-flags.ts'

/** A flag with what happens when the engine does not know it. */
export type CandidateFlag = LayeredFlag & { readonly isDispensable: boolean }

export interface FittedFlags {
  readonly flags: readonly LayeredFlag[]
  readonly removed: readonly RemovedFlag[]
  readonly notes: readonly string[]
}

/** What newer builds of llama.cpp say instead of flags that are gone. */
const HEIRS: Readonly<Record<string, string>> = {
  '--mlock': '--load-mode mlock',
  '--mmap': '--load-mode mmap',
  '--no-mmap': '--load-mode none',
  '--direct-io': '--load-mode dio',
  '-dio': '--load-mode dio',
}

/**
 * What of these does the engine take, by its own help? A flag that it knows by another of its names is written with that one; what would
 * only change its speed is left out as `no_effect`; what hal0 added by itself is left out when it can be. Without a help everything stays.
 * Errors: `slot.flag_unsupported` with the flag, its layer, the runner and the nearest flag it knows. Source: SPEC 9.
 */
export function fitToEngine(
  { slot, engine, profile }: LaunchRequest,
  candidates: readonly CandidateFlag[],
): Result<FittedFlags, Hal0Error> {
  const noEffect = new Set([...engine.noEffect].map((name) => lookUpFlag(name, engine.dialect, engine.help).canonical))
  const flags: LayeredFlag[] = []
  const removed: RemovedFlag[] = []
  const notes: string[] = []
  for (const { isDispensable, ...candidate } of candidates) {
    if (noEffect.has(candidate.canonical)) {
      removed.push(
        removedFlag(candidate, 'no_effect', `runner ${engine.key} has no such flag; it would only change its speed`),
      )
      continue
    }
    const name = nameFor(candidate, engine)
    if (name !== undefined) {
      flags.push({ ...candidate, flag: name })
      if (name !== candidate.flag && candidate.layer === 'profile') {
        notes.push(`${candidate.flag} of profile ${profile.name} is ${name} in this build of ${engine.key}`)
      }
    } else if (!isDispensable) {
      return err(unsupported(slot, candidate, engine, profile.name))
    }
  }
  return ok({ flags, removed, notes })
}

/** The name under which the engine takes the flag; undefined = it does not. */
function nameFor({ flag, canonical }: LayeredFlag, engine: LaunchEngine): string | undefined {
  const { help, dialect } = engine
  if (help === undefined || flag === '' || findInHelp(flag, help) !== undefined) return flag
  const table = tableOf(dialect)
  const facts = table.byName.get(canonical)
  // A pair of opposites has one canonical name: another spelling of it could be the other one.
  const isPair = facts?.values === 0 && facts.names.some(isNegative)
  const other = isPair ? undefined : facts?.names.find((name) => help.flags.has(name))
  if (other !== undefined) return other
  if (table.isArgparse) {
    const [name] = flag.split(/[.+]/, 1)
    const begun = [...help.flags.keys()].some((known) => known.startsWith(plainName(name ?? flag)))
    return begun || /^-[A-Za-z]/.test(flag) ? flag : undefined
  }
  return undefined
}

function unsupported(slot: string, { flag, layer }: LayeredFlag, engine: LaunchEngine, profile: string): Hal0Error {
  const names = engine.help?.flags.keys() ?? []
  const heir = engine.help?.flags.has('--load-mode') === true ? HEIRS[plainName(flag)] : undefined
  const nearest = heir ?? selectNearest(plainName(flag), names)
  const place = layer === 'profile' ? `profile ${profile}` : `layer ${layer}`
  const hint = nearest === undefined ? '' : `; did you mean ${nearest}?`
  return Hal0Error.of(
    'slot.flag_unsupported',
    `slot ${slot}: runner ${engine.key} does not know ${flag} (${place})${hint}`,
    {
      param: layer === 'profile' ? 'flags' : layer,
      details: {
        slot,
        flag,
        layer,
        runner: engine.key,
        ...(layer === 'profile' ? { profile } : {}),
        ...(nearest === undefined ? {} : { nearest }),
      },
    },
  )
}
