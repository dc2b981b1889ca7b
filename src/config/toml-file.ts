import { parse, TomlError } from 'smol-toml'
import { z } from 'zod'
import { messageOf } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { readConfigText } from './config-text.ts'
import type { ConfigMistake } from './mistake.ts'
import { selectNearestKey } from './rules/nearest-key.ts'

export type ReadOutcome<T> = Result<T, readonly ConfigMistake[]> | 'absent'

/** Reads and validates one TOML file; every mistake in it is reported at once. */
export async function readTomlFile<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
): Promise<ReadOutcome<z.output<Schema>>> {
  const text = await readConfigText(path)
  if (text === 'absent') return 'absent'
  return text.ok ? parseToml(path, text.value, schema) : err([text.error])
}

/** As `readTomlFile`, on text that is already there. */
export function parseToml<Schema extends z.ZodType>(
  path: string,
  text: string,
  schema: Schema,
): Result<z.output<Schema>, readonly ConfigMistake[]> {
  let raw: unknown
  try {
    raw = parse(text)
  } catch (cause) {
    const place = cause instanceof TomlError ? `line ${cause.line}, column ${cause.column}` : ''
    const reason =
      messageOf(cause)
        .split('\n')[0]
        ?.replace(/^Invalid TOML document: /, '') ?? ''
    return err([{ file: path, keyPath: place, expected: `not valid TOML: ${reason}` }])
  }
  const parsed = schema.safeParse(raw)
  if (parsed.success) return ok(parsed.data)
  return err(parsed.error.issues.flatMap((issue) => mistakesOf(path, issue, schema)))
}

function mistakesOf(file: string, issue: z.core.$ZodIssue, schema: z.ZodType): ConfigMistake[] {
  const at = issue.path.map(String)
  // What is wrong with the key of a record is told inside; the issue itself says only that something is.
  if (issue.code === 'invalid_key') {
    return issue.issues.map((inner) => ({ file, keyPath: at.join('.'), expected: inner.message }))
  }
  if (issue.code !== 'unrecognized_keys') return [{ file, keyPath: at.join('.'), expected: issue.message }]
  return issue.keys.map((key) => {
    const known = knownKeys(schema, at)
    const nearest = selectNearestKey(key, known)
    const hint = nearest === undefined ? `known are ${known.join(', ')}` : `did you mean ${nearest}?`
    return { file, keyPath: [...at, key].join('.'), expected: `unknown key; ${hint}` }
  })
}

/** The keys that the schema knows at `path`. */
function knownKeys(schema: z.ZodType, path: readonly string[]): string[] {
  let node: unknown = schema
  for (const step of path)
    node = unwrap(node) instanceof z.ZodObject ? childOf(unwrap(node), step) : valueOf(unwrap(node))
  const target = unwrap(node)
  return target instanceof z.ZodObject ? Object.keys(target.shape) : []
}

function childOf(node: unknown, key: string): unknown {
  return node instanceof z.ZodObject ? node.shape[key] : undefined
}

function valueOf(node: unknown): unknown {
  return node instanceof z.ZodRecord ? node.valueType : undefined
}

/** Through defaults and optionals to the type itself. */
function unwrap(node: unknown): unknown {
  let inner = node
  while (inner instanceof z.ZodDefault || inner instanceof z.ZodOptional || inner instanceof z.ZodPrefault) {
    inner = inner.unwrap()
  }
  return inner
}
