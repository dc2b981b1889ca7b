/** Who decides a flag: a profile may set it (`profile`), or who sets it instead. `files` = it opens files, sockets or code. Source: SPEC 3. */
export type FlagOwner = 'profile' | 'slot' | 'hal0' | 'model' | 'files'

/** How many words follow a flag: exactly so many, none or one (`optional`), or all that are no flag (`many`). */
export type FlagArity = number | 'optional' | 'many'

/** One flag of an engine, with all its spellings. */
export interface FlagFacts {
  /** The name under which spellings are compared: the current long one; of a pair `--x/--no-x` the positive. */
  readonly canonical: string
  readonly names: readonly string[]
  readonly values: FlagArity
  /** Every occurrence counts; otherwise the last one wins. */
  readonly repeats: boolean
  readonly owner: FlagOwner
  /** One clause: who owns it, and where the setting lives instead. Empty when a profile may set it. */
  readonly instead: string
}

/** Flags that are refused by the form of their name, so that a newer engine's are too. */
export interface DeniedPattern {
  readonly pattern: RegExp
  readonly owner: FlagOwner
  readonly instead: string
}

export interface FlagTable {
  readonly byName: ReadonlyMap<string, FlagFacts>
  readonly denied: readonly DeniedPattern[]
  /** The engine takes unambiguous beginnings of long names, and `--flag=value` (Python's argparse). */
  readonly isArgparse: boolean
}

const MARKS: Readonly<Record<string, { readonly values: FlagArity; readonly repeats: boolean }>> = {
  '0': { values: 0, repeats: false },
  '1': { values: 1, repeats: false },
  '2': { values: 2, repeats: false },
  '1+': { values: 1, repeats: true },
  '?': { values: 'optional', repeats: false },
  '*': { values: 'many', repeats: false },
}

/**
 * The flags that the lines name. A line: how many values (`0`, `1`, `2`, `?` = none or one, `*` = all that follow, `1+` = one, and
 * the flag accumulates), then the spellings, the canonical one first.
 */
export function readFlagRows(owner: FlagOwner, instead: string, lines: string): readonly FlagFacts[] {
  return lines.split('\n').flatMap((line) => {
    const [mark = '', ...names] = line.trim().split(/\s+/)
    const arity = MARKS[mark]
    const [canonical] = names
    return arity === undefined || canonical === undefined ? [] : [{ canonical, names, ...arity, owner, instead }]
  })
}

/** A table that finds each flag by each of its spellings. */
export function buildFlagTable(
  flags: readonly FlagFacts[],
  rest: { readonly denied: readonly DeniedPattern[]; readonly isArgparse: boolean },
): FlagTable {
  return { byName: new Map(flags.flatMap((flag) => flag.names.map((name) => [name, flag] as const))), ...rest }
}
