import { isTable, type Table } from './table.ts'

/**
 * A JSON merge patch: null deletes a key, tables merge, everything else (lists too) replaces. Neither argument is changed; keys that are
 * there keep their place, new ones follow in the patch's order. `__proto__` is a key like any other. Source: SPEC 16 "null deletes a key".
 */
export function mergePatch(target: Table, patch: Table): Table {
  const merged = new Map(Object.entries(target))
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) {
      merged.delete(key)
    } else if (isTable(value)) {
      const before = merged.get(key)
      merged.set(key, mergePatch(isTable(before) ? before : {}, value))
    } else {
      merged.set(key, value)
    }
  }
  // fromEntries makes own properties, whatever their names.
  return Object.fromEntries(merged)
}

/** The value at a path of keys, own keys only; undefined = there is none. */
export function valueAt(table: Table, path: readonly string[]): unknown {
  let value: unknown = table
  for (const key of path) {
    if (!isTable(value) || !Object.hasOwn(value, key)) return undefined
    value = value[key]
  }
  return value
}

/** The table without the keys at these paths; what is not there is passed over. */
export function withoutPaths(table: Table, paths: readonly (readonly string[])[]): Table {
  return paths.reduce((left, path) => withoutPath(left, path), table)
}

function withoutPath(table: Table, [head, ...rest]: readonly string[]): Table {
  if (head === undefined || !Object.hasOwn(table, head)) return table
  const entries = Object.entries(table)
  if (rest.length === 0) return Object.fromEntries(entries.filter(([key]) => key !== head))
  return Object.fromEntries(
    entries.map(([key, value]) => [key, key === head && isTable(value) ? withoutPath(value, rest) : value]),
  )
}
