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

/** A string that no file can hold, by its place. */
export interface BrokenText {
  /** Dotted, as in the body. */
  readonly param: string
  readonly message: string
}

interface Place {
  readonly path: string
  readonly key: string
  readonly value: unknown
}

/** Half of a surrogate pair: JSON can say it, UTF-8 cannot. */
const LONE_SURROGATE = /\p{Surrogate}/u

/**
 * Which strings of a body, keys included, hold half of a character? A file would get another character instead. In the order of the body,
 * level by level; for bodies that `findBodyMistake` has let through.
 */
export function findBrokenText(body: unknown): readonly BrokenText[] {
  const found: BrokenText[] = []
  const look = (param: string, text: string, what: string) => {
    if (!LONE_SURROGATE.test(text)) return
    found.push({ param, message: `${what} holds half of a character (a lone surrogate), which is no text` })
  }
  let level: readonly Place[] = [{ path: '', key: '', value: body }]
  while (level.length > 0) {
    const below: Place[] = []
    for (const { path, key: name, value } of level) {
      look(path, name, 'the key')
      if (typeof value === 'string') look(path, value, 'the value')
      if (typeof value !== 'object' || value === null) continue
      for (const [key, inner] of Object.entries(value)) {
        const at = path === '' ? wellFormed(key) : `${path}.${wellFormed(key)}`
        below.push({ path: at, key, value: inner })
      }
    }
    level = below
  }
  return found
}

/** The key as an answer can tell it: halves of characters as JSON writes them. */
function wellFormed(key: string): string {
  return LONE_SURROGATE.test(key) ? JSON.stringify(key).slice(1, -1) : key
}
