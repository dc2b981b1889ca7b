import { z } from 'zod'
import { selectNearest } from '../../../kernel/nearest-word.ts'

/** One mistake in data that a schema describes. */
export interface DataMistake {
  readonly path: readonly string[]
  readonly expected: string
}

/**
 * Everything that is wrong with data, with the nearest known key for one that is unknown; a key that belongs at the top of the file but
 * stands in a table is told so (in TOML every line after `[table]` is inside it). Source: SPEC 2.
 */
export function findSchemaMistakes(schema: z.ZodType, error: z.core.$ZodError): readonly DataMistake[] {
  const all = error.issues.flatMap((issue) => mistakesOf(schema, issue))
  // One value may break two bounds that are told in the same words.
  return [...new Map(all.map((mistake) => [JSON.stringify(mistake), mistake])).values()]
}

function mistakesOf(schema: z.ZodType, issue: z.core.$ZodIssue): readonly DataMistake[] {
  const path = issue.path.map(String)
  // What is wrong with the key of a record is told inside; the issue itself says only that something is.
  if (issue.code === 'invalid_key') return issue.issues.map((inner) => ({ path, expected: inner.message }))
  if (issue.code === 'invalid_type' && (issue.expected === 'object' || issue.expected === 'record')) {
    return [{ path, expected: 'expected a table' }]
  }
  if (issue.code !== 'unrecognized_keys') return [{ path, expected: inWords(issue.message) }]
  return issue.keys.map((key) => ({ path: [...path, key], expected: `unknown key; ${hintFor(schema, path, key)}` }))
}

/** Where a schema has no words of its own, these are zod's: "Invalid input: expected string, received undefined". */
function inWords(message: string): string {
  return message.replace(/^Invalid (?:input|option): /, '').replace(/, received undefined$/, ', and there is nothing')
}

function hintFor(schema: z.ZodType, path: readonly string[], key: string): string {
  const known = knownKeys(schema, path)
  if (path.length > 0 && isPlainKey(schema, key)) {
    return `${key} belongs at the top of the file, above the first [table]`
  }
  const nearest = selectNearest(key, known)
  return nearest === undefined ? `known are ${known.join(', ')}` : `did you mean ${nearest}?`
}

/** Is this a key of the document itself, and not a table of it? */
function isPlainKey(schema: z.ZodType, key: string): boolean {
  const root = unwrap(schema)
  if (!(root instanceof z.ZodObject) || !Object.hasOwn(root.shape, key)) return false
  const child = unwrap(root.shape[key])
  return !(child instanceof z.ZodObject) && !(child instanceof z.ZodRecord)
}

/** The keys that the schema knows at `path`. */
function knownKeys(schema: z.ZodType, path: readonly string[]): string[] {
  let node: unknown = schema
  for (const step of path) node = childOf(unwrap(node), step)
  const target = unwrap(node)
  return target instanceof z.ZodObject ? Object.keys(target.shape) : []
}

function childOf(node: unknown, key: string): unknown {
  if (node instanceof z.ZodObject) return node.shape[key]
  if (node instanceof z.ZodRecord) return node.valueType
  return node instanceof z.ZodArray ? node.element : undefined
}

/** Through defaults and optionals to the type itself. */
function unwrap(node: unknown): unknown {
  let inner = node
  while (inner instanceof z.ZodDefault || inner instanceof z.ZodOptional || inner instanceof z.ZodPrefault) {
    inner = inner.unwrap()
  }
  return inner
}
