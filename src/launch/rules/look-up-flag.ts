import type { Dialect, EngineHelp } from '../../contract/runner.ts'
import type { FlagArity, FlagFacts, FlagOwner, FlagTable } from './flag-facts.ts'
import { FLM_FLAGS } from './flm-flags.ts'
import { LLAMA_SERVER_FLAGS } from './llama-server-flags.ts'
import { SGLANG_FLAGS, TEMPLATE_FLAGS, VLLM_FLAGS } from './python-flags.ts'

const TABLES: Readonly<Record<Dialect, FlagTable>> = {
  'llama-server': LLAMA_SERVER_FLAGS,
  vllm: VLLM_FLAGS,
  sglang: SGLANG_FLAGS,
  flm: FLM_FLAGS,
  template: TEMPLATE_FLAGS,
}

/** What is known of a flag by its spelling. */
export interface KnownFlag {
  /** The name under which spellings are compared. */
  readonly canonical: string
  readonly values: FlagArity
  readonly repeats: boolean
  readonly owner: FlagOwner
  /** One clause on who owns it; empty when a profile may set it. */
  readonly instead: string
}

export function tableOf(dialect: Dialect): FlagTable {
  return TABLES[dialect]
}

/** Is this word a flag by its form? `-1` and `-` are values. */
export function looksLikeFlag(word: string): boolean {
  return /^--?[A-Za-z]/.test(word)
}

/** The spelling that engines compare: `--ctx_size` is `--ctx-size` to all of them. */
export function plainName(name: string): string {
  return name.startsWith('--') ? name.replaceAll('_', '-') : name
}

/** Is this switch the opposite of its pair: `--no-mmap`, `-nkvo`? Only for flags without values. */
export function isNegative(name: string): boolean {
  return /^(--no-|-n)/.test(name)
}

/** The help's option of this spelling. */
export function findInHelp(name: string, help: EngineHelp | undefined) {
  return help?.flags.get(name) ?? help?.flags.get(plainName(name))
}

/**
 * What is this flag? By the table of the dialect, else by the engine's own help (a new spelling of a known flag is that flag), else, where
 * the engine takes beginnings of names, by what it could be the beginning of; else by the form of its name. Never fails.
 * Source: SPEC 3 "every spelling counts", 9.
 */
export function lookUpFlag(name: string, dialect: Dialect, help?: EngineHelp): KnownFlag {
  const table = TABLES[dialect]
  const plain = plainName(name)
  const option = findInHelp(name, help)
  const facts = findFacts([plain, ...(option?.names ?? [])], table)
  if (facts !== undefined) {
    const values = table.isArgparse || option === undefined ? facts.values : option.values
    return { ...facts, values }
  }
  const begun = table.isArgparse && option === undefined ? findBegun(plain, table, help) : undefined
  if (begun !== undefined) return begun
  const denied = table.denied.find(({ pattern }) => pattern.test(plain))
  const values = table.isArgparse ? (option?.values === 0 ? 0 : 'optional') : (option?.values ?? 'many')
  return {
    canonical: canonicalOf(plain, option?.names ?? [plain]),
    values,
    repeats: false,
    owner: denied?.owner ?? 'profile',
    instead: denied?.instead ?? '',
  }
}

function findFacts(names: readonly string[], table: FlagTable): FlagFacts | undefined {
  for (const name of names) {
    const facts = table.byName.get(plainName(name))
    if (facts !== undefined) return facts
  }
  return undefined
}

/** What a profile may not set comes first, so that no beginning of its name slips through. */
function findBegun(begin: string, table: FlagTable, help: EngineHelp | undefined): KnownFlag | undefined {
  if (!begin.startsWith('--')) return undefined
  const found = [...table.byName].filter(([name]) => name.startsWith(begin))
  const owned = found.find(([, { owner }]) => owner !== 'profile')
  if (owned !== undefined) return owned[1]
  const distinct = new Set(found.map(([, facts]) => facts))
  const others = [...(help?.flags.keys() ?? [])].filter((name) => name.startsWith(begin) && !table.byName.has(name))
  const [only] = distinct
  return distinct.size === 1 && others.length === 0 ? only : undefined
}

/** Of the spellings of an unknown option the first long one that does not negate; of a lone `--no-x` it is `--x`. */
function canonicalOf(plain: string, names: readonly string[]): string {
  const positive = names.find((name) => name.startsWith('--') && !name.startsWith('--no-'))
  return positive ?? plain.replace(/^--no-(?=.)/, '--')
}
