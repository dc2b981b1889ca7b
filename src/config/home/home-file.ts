import type { z } from 'zod'
import type { ConfigMistakeRow } from '../../contract/config-report.ts'
import type { ErrorCode } from '../../kernel/error-registry.ts'
import { readConfigText } from '../toml/config-text.ts'
import type { ConfigMistake } from '../toml/mistake.ts'
import { findSchemaMistakes } from '../toml/rules/schema-mistakes.ts'
import { type Table } from '../toml/rules/table.ts'
import { parseTomlData } from '../toml/toml-file.ts'

/** One file of a home, looked at. */
export interface HomeFile<Value> {
  readonly file: string
  readonly isThere: boolean
  /** Its keys, whatever they hold; empty when there are none; undefined = it cannot be read. */
  readonly data: Table | undefined
  /** What the schema makes of it; undefined = it has mistakes. */
  readonly value: Value | undefined
  readonly mistakes: readonly ConfigMistakeRow[]
}

/** The file with every mistake in it, and all that can be told of it in spite of them. Never rejects. */
export async function readHomeFile<Schema extends z.ZodType>(
  file: string,
  schema: Schema,
): Promise<HomeFile<z.output<Schema>>> {
  const { data, ...rest } = await readHomeData(file)
  if (data === undefined) return { ...rest, data, value: undefined }
  const parsed = schema.safeParse(data)
  if (parsed.success) return { ...rest, data, value: parsed.data }
  const mistakes = findSchemaMistakes(schema, parsed.error).map(({ path, expected }) =>
    mistakeRow(file, path.join('.'), expected),
  )
  return { ...rest, data, value: undefined, mistakes }
}

/** As `readHomeFile`, no schema asked. */
export async function readHomeData(file: string): Promise<Omit<HomeFile<never>, 'value'>> {
  const text = await readConfigText(file)
  if (text === 'absent') return { file, isThere: false, data: {}, mistakes: [] }
  const data = text.ok ? parseTomlData(file, text.value) : text
  if (data.ok) return { file, isThere: true, data: data.value, mistakes: [] }
  return { file, isThere: true, data: undefined, mistakes: [toRow(data.error)] }
}

/** A mistake as people and the API get it. */
export function mistakeRow(
  file: string,
  key: string,
  message: string,
  code: ErrorCode | 'slot.lru_flag_retired' = 'config.invalid',
): ConfigMistakeRow {
  return { file, key, message, code }
}

function toRow({ file, keyPath, expected }: ConfigMistake): ConfigMistakeRow {
  return mistakeRow(file, keyPath, expected)
}
