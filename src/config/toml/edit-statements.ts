import { patch } from '@decimalturn/toml-patch'
import { parse, stringify } from 'smol-toml'
import { valueAt } from './rules/merge-patch.ts'
import { type DataChange, isSameData, planChanges } from './rules/same-data.ts'
import { isTable } from './rules/table.ts'
import { splitStatements, type TomlStatement } from './toml-statements.ts'

type Data = Readonly<Record<string, unknown>>
type Pair = Extract<TomlStatement, { kind: 'pair' }>

/**
 * Leads the text from `before`, which it means, to `next`, statement by statement. Throws when a step has no statement of its own
 * (inside a list of tables). The caller reads the result back.
 */
export function editStatements(text: string, before: Data, next: Data): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  return planChanges(before, next).reduce((body, change) => applyChange(body, change, next, eol), text)
}

function applyChange(text: string, change: DataChange, next: Data, eol: string): string {
  const statements = splitStatements(text)
  // An inline table is one value: it is written anew as a whole.
  const inline = statements.findIndex(
    (one) => one.kind === 'pair' && one.path.length < change.path.length && startsWith(change.path, one.path),
  )
  if (inline !== -1) return rewritePair(statements, inline, valueAt(next, pathOf(statements[inline])))
  if (change.kind === 'remove') return joinTexts(removeUnder(statements, change.path))
  if (change.kind === 'add') return addAt(statements, change.path, change.value, eol)
  const own = statements.findIndex((one) => one.kind === 'pair' && isSamePath(one.path, change.path))
  if (own !== -1 && !isTable(change.value)) return rewritePair(statements, own, change.value)
  const rest = removeUnder(statements, change.path)
  if (own === -1 && statements.some((one) => !rest.includes(one) && one.text.includes('#'))) {
    throw new Error('several statements with comments become another value')
  }
  return addAt(rest, change.path, change.value, eol)
}

/** Without what says something about `path`, and without the comment lines right above that. */
function removeUnder(statements: readonly TomlStatement[], path: readonly string[]): readonly TomlStatement[] {
  const kept: TomlStatement[] = []
  const cuts: number[] = []
  for (const one of statements) {
    if (one.kind === 'gap' || !startsWith(one.path, path)) {
      kept.push(one)
      continue
    }
    const owned = countOwned(kept)
    // A comment that opens the file speaks for the file.
    if (owned < kept.length) kept.splice(kept.length - owned, owned)
    cuts.push(kept.length)
  }
  if (cuts.length === 0) throw new Error(`nothing says ${path.join('.')}`)
  // Of two blank lines that meet where something was, one is enough; a blank line at the end is none.
  const isBlank = (nth: number) => kept[nth]?.kind === 'gap' && kept[nth]?.text.trim() === ''
  const doubled = new Set(cuts.filter((cut) => isBlank(cut - 1) && (cut === kept.length || isBlank(cut))))
  return kept.filter((_, nth) => !doubled.has(nth + 1))
}

/** How many comment lines at the end of the list stand right above what follows? */
function countOwned(statements: readonly TomlStatement[]): number {
  const start = statements.findLastIndex((one) => one.kind !== 'gap' || one.text.trim() === '')
  return statements.length - 1 - start
}

function rewritePair(statements: readonly TomlStatement[], index: number, value: unknown): string {
  const pair = statements[index]
  if (pair?.kind !== 'pair') throw new Error('no pair')
  const written = rewriteValue(pair.text.slice(pair.valueStart, pair.valueEnd), value)
  const text = pair.text.slice(0, pair.valueStart) + written + pair.text.slice(pair.valueEnd)
  return joinTexts(statements.with(index, { ...pair, text }))
}

/** Comments inside a list or an inline table stay where that is possible. */
function rewriteValue(old: string, value: unknown): string {
  if (old.includes('\n') || old.startsWith('{')) {
    try {
      const text = patch(`x = ${old}\n`, { x: value }).replace(/^x = /, '').trimEnd()
      if (isSameData(parse(`x = ${text}\n`), { x: value })) return text
    } catch {
      // Written anew below.
    }
  }
  return renderValue(value)
}

function addAt(statements: readonly TomlStatement[], path: readonly string[], value: unknown, eol: string): string {
  if (isTable(value)) return appendTable(joinTexts(statements), path, value, eol)
  const parent = path.slice(0, -1)
  const header = statements.findLastIndex((one) => one.kind === 'header' && isSamePath(one.path, parent))
  if (parent.length > 0 && header === -1) return addDotted(statements, path, value, eol)
  const line = (sibling: TomlStatement | undefined) =>
    `${/^[ \t]*/.exec(sibling?.text ?? '')?.[0] ?? ''}${renderKey(path.slice(-1))} = ${renderValue(value)}${eol}`
  const ends = statements.findIndex((one, nth) => nth > header && one.kind === 'header')
  const end = ends === -1 ? statements.length : ends
  const last = statements.findLastIndex((one, nth) => nth > header && nth < end && one.kind === 'pair')
  if (last !== -1) return insertAfter(statements, last, line(statements[last]), eol)
  if (header !== -1) return insertAfter(statements, header, line(statements[header]), eol)
  // The document's first key: behind the comment that opens the file, before the first table and its comment.
  const place = end - countOwned(statements.slice(0, end))
  const rest = statements.slice(place)
  return joinTexts([
    ...closeLine(statements.slice(0, place), eol),
    { kind: 'gap', text: `${line(undefined)}${rest.length === 0 ? '' : eol}` },
    ...rest,
  ])
}

/** The parent has no header: a key of it is written as its sisters are, else under a header of its own. */
function addDotted(statements: readonly TomlStatement[], path: readonly string[], value: unknown, eol: string): string {
  const parent = path.slice(0, -1)
  const sister = statements.findLastIndex((one) => one.kind === 'pair' && startsWith(one.path, parent))
  const pair = statements[sister]
  const table = statements.slice(0, Math.max(sister, 0)).findLast((one) => one.kind === 'header')
  if (pair?.kind !== 'pair' || (table !== undefined && startsWith(pathOf(table), parent))) {
    return appendTable(joinTexts(statements), parent, { [path.at(-1) ?? '']: value }, eol)
  }
  const key = renderKey(path.slice(table === undefined ? 0 : pathOf(table).length))
  return insertAfter(statements, sister, `${indentOf(pair)}${key} = ${renderValue(value)}${eol}`, eol)
}

function appendTable(text: string, path: readonly string[], table: Data, eol: string): string {
  const nested = path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), table)
  if (!isTable(nested)) throw new Error('no path')
  const written = stringify(nested).trimEnd().replaceAll('\n', eol)
  const above = text.trim() === '' ? text : `${text.replace(/\r?\n?$/, '')}${eol}${eol}`
  return `${above}${written}${eol}`
}

function insertAfter(statements: readonly TomlStatement[], index: number, line: string, eol: string): string {
  return joinTexts([
    ...closeLine(statements.slice(0, index + 1), eol),
    { kind: 'gap', text: line },
    ...statements.slice(index + 1),
  ])
}

/** The last line of a document may lack its end. */
function closeLine(statements: readonly TomlStatement[], eol: string): readonly TomlStatement[] {
  const last = statements.at(-1)
  return last === undefined || last.text.endsWith('\n') ? statements : [...statements, { kind: 'gap', text: eol }]
}

function renderValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(renderValue).join(', ')}]`
  if (isTable(value)) {
    const pairs = Object.entries(value).filter(([, inner]) => inner !== undefined)
    return pairs.length === 0
      ? '{}'
      : `{ ${pairs.map(([key, inner]) => `${renderKey([key])} = ${renderValue(inner)}`).join(', ')} }`
  }
  return stringify({ x: value }).trim().slice('x = '.length)
}

function renderKey(path: readonly string[]): string {
  return path.map((key) => (/^[A-Za-z0-9_-]+$/.test(key) ? key : JSON.stringify(key))).join('.')
}

function indentOf(pair: Pair): string {
  return /^[ \t]*/.exec(pair.text)?.[0] ?? ''
}

function pathOf(statement: TomlStatement | undefined): readonly string[] {
  return statement === undefined || statement.kind === 'gap' ? [] : statement.path
}

function startsWith(path: readonly string[], start: readonly string[]): boolean {
  return start.length <= path.length && start.every((key, nth) => path[nth] === key)
}

function isSamePath(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && startsWith(left, right)
}

function joinTexts(statements: readonly TomlStatement[]): string {
  return statements.map((one) => one.text).join('')
}
