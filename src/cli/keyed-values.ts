import { UsageError } from './cli-error.ts'

/** Keys and values as they go into a JSON body; null deletes a key. */
export type Payload = Record<string, unknown>

/** An object whose keys are only those that were put in, also for a key named `__proto__`. */
export function emptyPayload(): Payload {
  const payload: Payload = {}
  Object.setPrototypeOf(payload, null)
  return payload
}

/** Puts a value at a dotted path, making the tables on the way. Errors: UsageError (a value stands where a table is needed). */
export function putAt(payload: Payload, path: string, value: unknown): void {
  const steps = path.split('.')
  const last = steps.pop() ?? ''
  if (last === '' || steps.includes(''))
    throw new UsageError(`${JSON.stringify(path)} is not a key.`, 'Write TABLE.KEY.')
  let table = payload
  for (const step of steps) {
    const next = table[step]
    if (next === undefined) {
      const made = emptyPayload()
      table[step] = made
      table = made
    } else if (isTable(next)) table = next
    else throw new UsageError(`${path}: ${step} is given a value already.`)
  }
  table[last] = value
}

/** `key=value` in two. Errors: UsageError. */
export function splitPair(option: string, text: string): readonly [key: string, value: string] {
  const at = text.indexOf('=')
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)]
  throw new UsageError(`${option} ${JSON.stringify(text)} is not KEY=VALUE.`, `Write ${option} KEY=VALUE.`)
}

/** A value as typed: numbers, true, false, null, lists and tables as JSON, anything else as text. */
export function typedValue(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return value
  } catch {
    return text
  }
}

function isTable(value: unknown): value is Payload {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
