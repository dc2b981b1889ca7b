import type { Dialect, EngineHelp } from '../../contract/runner.ts'
import type { FlagOwner } from './flag-facts.ts'
import { type KnownFlag, looksLikeFlag, lookUpFlag } from './look-up-flag.ts'
import { findUnspeakable, readFlags, type WrittenFlag } from './read-flags.ts'

/** A flag that a profile may not set. */
export interface FlagRefusal {
  /** As written, without its value. */
  readonly flag: string
  readonly canonical: string
  readonly owner: Exclude<FlagOwner, 'profile'>
  /** One clause: who owns it, and where the setting lives instead. */
  readonly detail: string
}

export const EMBEDDING_FLAG = '--embedding'
export const RERANK_FLAG = '--rerank'
const BOTH_MODES = 'an engine either embeds or reranks: the other mode flag stands before it'

/**
 * Which of these words may a profile not have? In the order of the words, one for each occurrence, whatever the spelling; empty = it may have all.
 * Words that cannot be read as flags are no refusal (`findFlagMistake`). Source: SPEC 3 `profile.flag_denied`.
 */
export function screenFlags(words: readonly string[], dialect: Dialect, help?: EngineHelp): readonly FlagRefusal[] {
  const flags = readFlags(words, dialect, help)
  const first = flags.find(isModeFlag)?.known.canonical
  return flags.flatMap((written) => {
    const hidden = written.values.filter(looksLikeFlag).map((value) => value.split('=', 1)[0] ?? value)
    return [
      ...refusalOf(written.flag, written.known),
      ...hidden.flatMap((value) => refusalOf(value, lookUpFlag(value, dialect, help))),
      ...(isModeFlag(written) && written.known.canonical !== first ? [secondMode(written)] : []),
    ]
  })
}

/** Why an engine could not read these words as flags, in one clause; undefined = it can. Flags that are refused anyway do not count. */
export function findFlagMistake(words: readonly string[], dialect: Dialect, help?: EngineHelp): string | undefined {
  if (dialect === 'template') return findUnspeakable(words)
  return readFlags(words, dialect, help).find(
    ({ problem, known }) => problem !== undefined && known.owner === 'profile',
  )?.problem
}

/** Does this flag turn the engine into a pooled one, which embeds or reranks and does not chat? */
export function isModeFlag({ known }: Pick<WrittenFlag, 'known'>): boolean {
  return known.canonical === EMBEDDING_FLAG || known.canonical === RERANK_FLAG
}

function refusalOf(flag: string, known: KnownFlag): readonly FlagRefusal[] {
  if (known.owner === 'profile') return []
  return [{ flag, canonical: known.canonical, owner: known.owner, detail: known.instead }]
}

function secondMode({ flag, known }: WrittenFlag): FlagRefusal {
  return { flag, canonical: known.canonical, owner: 'hal0', detail: BOTH_MODES }
}
