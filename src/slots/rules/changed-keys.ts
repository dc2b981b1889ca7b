/** Which keys of a file have another value now, dotted and sorted? Undefined = there was, or is, no such file. Pure. */
export function selectChangedKeys(before: object | undefined, after: object | undefined): readonly string[] {
  if (before === undefined || after === undefined) return []
  const [old, fresh] = [leavesOf(before), leavesOf(after)]
  return [...new Set([...old.keys(), ...fresh.keys()])].filter((key) => old.get(key) !== fresh.get(key)).toSorted()
}

/** Dotted path → value as JSON; lists count as one value. */
function leavesOf(value: object, path = ''): Map<string, string> {
  return new Map(
    Object.entries(value).flatMap(([key, inner]: [string, unknown]): [string, string][] => {
      const at = path === '' ? key : `${path}.${key}`
      if (typeof inner === 'object' && inner !== null && !Array.isArray(inner)) return [...leavesOf(inner, at)]
      return inner === undefined ? [] : [[at, JSON.stringify(inner)]]
    }),
  )
}
