/** Settings have four levels at most; whoever walks a body may do so by recursion. */
const MAX_DEPTH = 32

/**
 * What of a body that is JSON can no settings hold? The answer completes "The body …"; undefined = nothing. A key `__proto__` would be lost
 * without a word on the way to a file, and nesting without end would exhaust the stack.
 */
export function findBodyMistake(body: unknown): string | undefined {
  let level: readonly unknown[] = [body]
  for (let depth = 0; level.length > 0; depth++) {
    const below: unknown[] = []
    for (const value of level) {
      if (typeof value !== 'object' || value === null) continue
      if (Object.hasOwn(value, '__proto__')) return 'has a key "__proto__", which is none of the settings'
      // One by one: a list may be longer than a call can have arguments.
      for (const inner of Object.values(value)) below.push(inner)
    }
    if (depth > MAX_DEPTH) return `is nested more than ${MAX_DEPTH} levels deep`
    level = below
  }
  return undefined
}
