import { isTable } from './table.ts'

/** A date or time of TOML, whatever class holds it. */
function isMoment(value: unknown): boolean {
  return Object.prototype.toString.call(value) === '[object Date]'
}

/** Do two pieces of TOML data mean the same? The order of keys does not count, a key that is undefined counts as absent. */
export function isSameData(left: unknown, right: unknown): boolean {
  if (isMoment(left) || isMoment(right)) {
    // The JSON form is the text in the file, with its precision and offset.
    return isMoment(left) && isMoment(right) && JSON.stringify(left) === JSON.stringify(right)
  }
  if (Array.isArray(left) || Array.isArray(right)) {
    if (!Array.isArray(left) || !Array.isArray(right) || left.length !== right.length) return false
    return left.every((item, nth) => isSameData(item, right[nth]))
  }
  if (isTable(left) && isTable(right)) {
    const keys = definedKeys(left)
    if (keys.length !== definedKeys(right).length) return false
    return keys.every((key) => Object.hasOwn(right, key) && isSameData(left[key], right[key]))
  }
  return left === right || (Number.isNaN(left) && Number.isNaN(right))
}

/** One step from one document to another, told by its path. A step inside a list is a `set` of the whole list. */
export type DataChange =
  | { readonly kind: 'remove'; readonly path: readonly string[] }
  | { readonly kind: 'add' | 'set'; readonly path: readonly string[]; readonly value: unknown }

/** Which steps lead from `before` to `after`? In the order of keys, removals of a table first. */
export function planChanges(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
  at: readonly string[] = [],
): readonly DataChange[] {
  const gone = definedKeys(before).filter((key) => !definedKeys(after).includes(key))
  const steps = definedKeys(after).flatMap((key): readonly DataChange[] => {
    const path = [...at, key]
    const value = after[key]
    if (!Object.hasOwn(before, key) || before[key] === undefined) return [{ kind: 'add', path, value }]
    const old = before[key]
    if (isTable(old) && isTable(value)) return planChanges(old, value, path)
    return isSameData(old, value) ? [] : [{ kind: 'set', path, value }]
  })
  return [...gone.map((key) => ({ kind: 'remove' as const, path: [...at, key] })), ...steps]
}

function definedKeys(table: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(table).filter((key) => table[key] !== undefined)
}
