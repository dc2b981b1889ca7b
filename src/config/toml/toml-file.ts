import { parse, TomlError } from 'smol-toml'
import type { z } from 'zod'
import { messageOf } from '../../kernel/errors.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { readConfigText } from './config-text.ts'
import type { ConfigMistake } from './mistake.ts'
import { findSchemaMistakes } from './rules/schema-mistakes.ts'
import { type Table } from './rules/table.ts'

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
  const raw = parseTomlData(path, text)
  if (!raw.ok) return err([raw.error])
  const parsed = schema.safeParse(raw.value)
  if (parsed.success) return ok(parsed.data)
  return err(
    findSchemaMistakes(schema, parsed.error).map((mistake) => ({
      file: path,
      keyPath: mistake.path.join('.'),
      expected: mistake.expected,
    })),
  )
}

/** The data of a TOML text as it stands, no schema asked. A mark that an editor put at its start (BOM) is passed over. */
export function parseTomlData(path: string, text: string): Result<Table, ConfigMistake> {
  try {
    return ok(parse(text.replace(/^\uFEFF/, '')))
  } catch (cause) {
    const place = cause instanceof TomlError ? `line ${cause.line}, column ${cause.column}` : ''
    const reason =
      messageOf(cause)
        .split('\n')[0]
        ?.replace(/^Invalid TOML document: /, '') ?? ''
    return err({ file: path, keyPath: place, expected: `not valid TOML: ${reason}` })
  }
}
