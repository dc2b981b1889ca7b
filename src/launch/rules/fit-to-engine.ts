import { Hal0Error } from '../../kernel/errors.ts'
import { selectNearest } from '../../kernel/nearest-word.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import type { LaunchEngine, LaunchRequest, RemovedFlag } from './launch-request.ts'
import { findInHelp, isNegative, lookUpFlag, plainName, tableOf } from './look-up-flag.ts'
import { type LayeredFlag, removedFlag } from './merge-flags.ts'
import { keyOfFlag } from './plan-keys.ts'

/** A flag with what happens when the engine does not know it. */
export interface CandidateFlag extends LayeredFlag {
  readonly isDispensable: boolean
  /** A person wrote it as a flag; otherwise hal0 did, for a key of slot, model or profile. */
  readonly isWritten: boolean
}

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

/** Keys that a slot has in its `[tune]`. */
const TUNE_KEYS: ReadonlySet<string> = new Set(['reasoning_effort', 'reasoning_budget'])

/**
 * What of these does the engine take, by its own help? A flag that it knows by another of its names is written with that one; what only
 * changes how it works is left out as `no_effect`; what hal0 added by itself is left out when it can be. Without a help everything stays.
 * Errors: `slot.flag_unsupported` with the flag, its layer, the runner and the nearest flag it knows. Source: SPEC 9.
 */
export function fitToEngine(
  { slot, engine, profile }: LaunchRequest,
  candidates: readonly CandidateFlag[],
): Result<FittedFlags, Hal0Error> {
  const noEffect = new Set([...engine.noEffect].map((name) => settingOf(name, engine)))
  const flags: LayeredFlag[] = []
  const removed: RemovedFlag[] = []
  const notes: string[] = []
  for (const { isDispensable, isWritten, ...candidate } of candidates) {
    const name = nameFor(candidate, engine)
    if (name === undefined && noEffect.has(settingOf(candidate.flag, engine))) {
      removed.push(
        removedFlag(
          candidate,
          'no_effect',
          `runner ${engine.key} has nothing like it, and answers without it: it is about how an engine works (speed, memory, checks), not about what is asked of the model`,
        ),
      )
      continue
    }
    if (name !== undefined) {
      flags.push({ ...candidate, flag: name })
      if (name !== candidate.flag && candidate.layer === 'profile') {
        notes.push(`${candidate.flag} of profile ${profile.name} is ${name} in this build of ${engine.key}`)
      }
    } else if (!isDispensable) {
      return err(
        isWritten
          ? unknownFlag(slot, candidate, engine, profile.name)
          : unknownKey(slot, candidate, engine, profile.name),
      )
    }
  }
  return ok({ flags, removed, notes })
}

/** The same for all spellings of a flag, but not for the two of a pair of opposites. */
function settingOf(name: string, { dialect, help }: LaunchEngine): string {
  const { canonical, values } = lookUpFlag(name, dialect, help)
  return values === 0 && isNegative(plainName(name)) ? `not ${canonical}` : canonical
}

/** The name under which the engine takes the flag; undefined = it does not. */
function nameFor({ flag, canonical }: LayeredFlag, engine: LaunchEngine): string | undefined {
  const { help, dialect } = engine
  if (help === undefined || flag === '' || findInHelp(flag, help) !== undefined) return flag
  const table = tableOf(dialect)
  const facts = table.byName.get(canonical)
  // A pair of opposites has one canonical name: only a spelling of the same one will do.
  const isOpposite = (name: string) => facts?.values === 0 && isNegative(name) !== isNegative(plainName(flag))
  const other = facts?.names.find((name) => help.flags.has(name) && !isOpposite(name))
  if (other !== undefined) return other
  if (table.isArgparse) {
    const [name] = flag.split(/[.+]/, 1)
    const begun = [...help.flags.keys()].some((known) => known.startsWith(plainName(name ?? flag)))
    return begun || /^-[A-Za-z]/.test(flag) ? flag : undefined
  }
  return undefined
}

/** A flag that a person wrote. Only what a profile may set is proposed instead. */
function unknownFlag(slot: string, { flag }: LayeredFlag, engine: LaunchEngine, profile: string): Hal0Error {
  const { help, dialect, key } = engine
  const allowed = [...(help?.flags.keys() ?? [])].filter((name) => lookUpFlag(name, dialect, help).owner === 'profile')
  const heir = help?.flags.has('--load-mode') === true ? HEIRS[plainName(flag)] : undefined
  const nearest = heir ?? selectNearest(plainName(flag), allowed)
  const hint = nearest === undefined ? '' : `; did you mean ${nearest}?`
  return Hal0Error.of(
    'slot.flag_unsupported',
    `slot ${slot}: runner ${key} does not know ${flag} (profile ${profile})${hint}`,
    {
      param: 'flags',
      details: {
        slot,
        flag,
        layer: 'profile',
        runner: key,
        profile,
        ...(nearest === undefined ? {} : { nearest }),
        remedy:
          `Take it out of the flags of profile ${profile} (\`hal0 profile edit ${profile}\`; of a built-in one make your own first: ` +
          `\`hal0 profile create NAME --from ${profile}\`), or choose a runner that knows it (\`hal0 runner list\`).`,
      },
    },
  )
}

/** A flag that hal0 wrote, for a key of slot, model or profile or because no engine serves without it. */
function unknownKey(slot: string, { flag, layer }: LayeredFlag, engine: LaunchEngine, profile: string): Hal0Error {
  const key = layer === 'base' ? undefined : keyOfFlag(flag)
  const owner = key === undefined ? undefined : ownerOf(key, layer, slot, profile)
  const remedy =
    owner === undefined
      ? `The program does not look like an engine of this kind: correct binary in [runners.${engine.key}] of hal0.toml, or choose another runner (\`hal0 runner list\`).`
      : `Take ${owner} back, or choose a runner that knows it (\`hal0 runner list\`).`
  return Hal0Error.of(
    'slot.flag_unsupported',
    `slot ${slot}: runner ${engine.key} does not know ${flag} (layer ${layer}${owner === undefined ? '' : `: ${owner}`})`,
    {
      param: key ?? layer,
      details: {
        slot,
        flag,
        layer,
        runner: engine.key,
        ...(layer === 'profile' ? { profile } : {}),
        remedy,
      },
    },
  )
}

/** The key as its owner's file has it. */
function ownerOf(key: string, layer: LayeredFlag['layer'], slot: string, profile: string): string {
  if (layer === 'profile') return `${key} of profile ${profile}`
  if (layer === 'model') return `${key} of the model`
  return TUNE_KEYS.has(key) ? `${key} in [tune] of slot ${slot}` : `${key} of slot ${slot}`
}
