/** An object without the keys that are undefined: they say nothing. */
export type Defined<T extends object> = { [Key in keyof T]: Exclude<T[Key], undefined> }

/** Keys that are there but undefined say nothing: they are left out. The object itself stays as it is. */
export function withoutUndefined<T extends object>(input: T): Partial<Defined<T>> {
  const kept: Partial<Defined<T>> = { ...input }
  for (const key of Object.keys(input)) if (Reflect.get(input, key) === undefined) Reflect.deleteProperty(kept, key)
  return kept
}
