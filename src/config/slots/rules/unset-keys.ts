import { z } from 'zod'
import { withoutPaths } from '../../toml/rules/merge-patch.ts'
import { type DataMistake, findSchemaMistakes } from '../../toml/rules/schema-mistakes.ts'
import { isTable, type Table } from '../../toml/rules/table.ts'
import { slotFileSchema } from './slot-schema.ts'
import { findTuningKeys } from './tuning-keys.ts'

/**
 * Which keys does a patch delete that the file does not have and that are no keys of a slot at all? Slips of the hand, each with the nearest
 * key. One that people know (a tuning key, `enabled`) may be deleted from a file that has got rid of it.
 */
export function findUnknownDeletions(current: Table, patch: Table): readonly DataMistake[] {
  const absent = selectAbsentNulls(current, patch)
  const known = findTuningKeys(absent, { deletable: false }).map(({ path }) => path)
  return findUnknownNulls(slotFileSchema, withoutPaths(absent, [...known, ['enabled']]))
}

/** Which of these keys does a file of this schema not have at all? Each with the nearest that it has. */
export function findUnknownNulls(schema: z.ZodType, nulls: Table): readonly DataMistake[] {
  const parsed = schema.safeParse(nulls)
  if (parsed.success) return []
  const issues = parsed.error.issues.filter((issue) => issue.code === 'unrecognized_keys')
  return findSchemaMistakes(schema, new z.ZodError(issues))
}

/** Of the patch, the keys that are null and not in the file; tables without any are left out. */
export function selectAbsentNulls(current: Table, patch: Table): Table {
  return Object.fromEntries(
    Object.entries(patch).flatMap(([key, value]): [string, unknown][] => {
      const before = Object.hasOwn(current, key) ? current[key] : undefined
      if (value === null) return before === undefined ? [[key, null]] : []
      if (!isTable(value)) return []
      const inner = selectAbsentNulls(isTable(before) ? before : {}, value)
      return Object.keys(inner).length === 0 ? [] : [[key, inner]]
    }),
  )
}

/** The outcome of a patch without the tables that only its nulls have left empty; `{}` in a patch makes an empty table as before. */
export function withoutEmptied(merged: Table, patch: Table): Table {
  return Object.fromEntries(
    Object.entries(merged).flatMap(([key, value]): [string, unknown][] => {
      const asked = Object.hasOwn(patch, key) ? patch[key] : undefined
      if (!isTable(value) || !isTable(asked)) return [[key, value]]
      const inner = withoutEmptied(value, asked)
      return Object.keys(inner).length === 0 && Object.keys(asked).length > 0 ? [] : [[key, inner]]
    }),
  )
}
