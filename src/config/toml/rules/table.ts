/** Data with keys: what a TOML table or a JSON object is. */
export type Table = Readonly<Record<string, unknown>>

/** Is this a table, and not a list, a date or another kind of object? */
export function isTable(value: unknown): value is Table {
  return Object.prototype.toString.call(value) === '[object Object]'
}
