import type { Dialect, EngineHelp } from '../../contract/runner.ts'
import { type KnownFlag, looksLikeFlag, lookUpFlag, tableOf } from './look-up-flag.ts'

/** One flag as a person wrote it. */
export interface WrittenFlag {
  /** As written, without `=value`; empty for a value that no flag takes. */
  readonly flag: string
  readonly values: readonly string[]
  readonly known: KnownFlag
  /** The words themselves, in order. */
  readonly words: readonly string[]
  /** Why the engine could not read it, in one clause; undefined = it can. */
  readonly problem: string | undefined
}

const NOTHING: KnownFlag = { canonical: '', values: 0, repeats: true, owner: 'profile', instead: '' }
const NAME = /^--?[A-Za-z][\w.+-]*$/

/**
 * The words of a command line as flags with their values, in order; every word is in exactly one of them. A word that looks like a flag is
 * never a value, so that no flag hides behind another; `--flag=-value` says it is meant. How many words a flag takes: the engine's help,
 * else the dialect's table, else all that do not look like flags. Never fails: what cannot be read carries its `problem`. Source: SPEC 9.
 */
export function readFlags(words: readonly string[], dialect: Dialect, help?: EngineHelp): readonly WrittenFlag[] {
  const flags: WrittenFlag[] = []
  for (let at = 0; at < words.length; ) {
    const flag = readOne(words, at, dialect, help)
    flags.push(flag)
    at += flag.words.length
  }
  return flags
}

function readOne(words: readonly string[], at: number, dialect: Dialect, help: EngineHelp | undefined): WrittenFlag {
  const word = words[at] ?? ''
  if (!looksLikeFlag(word)) {
    const problem = `"${word}" (word ${at + 1}) is a value without a flag`
    return { flag: '', values: [word], known: NOTHING, words: [word], problem }
  }
  const equals = word.indexOf('=')
  const flag = equals === -1 ? word : word.slice(0, equals)
  const known = lookUpFlag(flag, dialect, help)
  const glued = equals === -1 ? [] : [word.slice(equals + 1)]
  const { least, most } = boundsOf(known)
  const following: string[] = []
  for (let next = at + 1; glued.length + following.length < most && next < words.length; next++) {
    const value = words[next] ?? ''
    if (looksLikeFlag(value)) break
    following.push(value)
  }
  const values = [...glued, ...following]
  const own = [word, ...following]
  return {
    flag,
    values,
    known,
    words: own,
    problem: NAME.test(flag)
      ? (countProblem(flag, values.length, least, most) ??
        hiddenProblem(flag, values, dialect, help) ??
        findUnspeakable(own, at))
      : `"${word}" (word ${at + 1}) is no name of a flag`,
  }
}

/**
 * Why no process could be given these words, in one clause; undefined = it could. A word of a command line ends at a NUL, and half of a
 * character has no bytes. `first`: the place of the first one, from 0.
 */
export function findUnspeakable(words: readonly string[], first = 0): string | undefined {
  for (const [at, word] of words.entries()) {
    const place = `word ${first + at + 1}`
    if (word.includes('\0')) return `${place} contains a NUL character, which no command line can hold`
    if (/\p{Surrogate}/u.test(word)) return `${place} contains half of a character (a lone surrogate)`
  }
  return undefined
}

function boundsOf({ values }: KnownFlag): { readonly least: number; readonly most: number } {
  if (values === 'optional') return { least: 0, most: 1 }
  if (values === 'many') return { least: 0, most: Number.POSITIVE_INFINITY }
  return { least: values, most: values }
}

function countProblem(flag: string, count: number, least: number, most: number): string | undefined {
  if (count < least) return `${flag} needs ${least === 1 ? 'a value' : `${least} values`}`
  return count > most ? `${flag} takes no value` : undefined
}

/** Values reach the engine as words of their own: one that it reads as a flag would be that flag. */
function hiddenProblem(
  flag: string,
  values: readonly string[],
  dialect: Dialect,
  help: EngineHelp | undefined,
): string | undefined {
  const hidden = values.find((value) => {
    if (!looksLikeFlag(value)) return false
    return tableOf(dialect).isArgparse || lookUpFlag(value, dialect, help).owner !== 'profile'
  })
  return hidden === undefined
    ? undefined
    : `${flag} cannot have the value "${hidden}", which the engine reads as a flag`
}
