import { valueAt, withoutPaths } from '../../toml/rules/merge-patch.ts'
import { isTable, type Table } from '../../toml/rules/table.ts'
import { findTuningKeys } from './tuning-keys.ts'

/** What the tuning keys of a slot file say, sorted by their owners. */
export interface ConvertedSlot {
  /** The keys that go, dotted. */
  readonly moved: readonly string[]
  /** The file's keys without them; tables that are empty now are gone too. */
  readonly rest: Table
  /** Keys of a profile, not checked yet. */
  readonly profile: Table
  /** Flags as the file gave them: words, or strings to be split. In the order of the file. */
  readonly flags: readonly (string | readonly string[])[]
  /** Keys of the model's row, not checked yet. */
  readonly model: Table
  /** What has no place to go, with the reason. */
  readonly stuck: readonly { readonly key: string; readonly message: string }[]
}

/**
 * Where does each tuning key of a slot file belong? Undefined = it has none. A window of 0 meant "the model's own" and goes without a
 * trace, and so does `enabled = true`; `mtp = true` is a fact of the model, `mtp = false` was a wish of this slot alone and becomes
 * speculation "off". Source: SPEC 3.
 */
export function convertSlot(data: Table): ConvertedSlot | undefined {
  const keys = findTuningKeys(data, { deletable: false })
  // It says what model.default says already; `enabled = false` needs a decision of a person.
  const idle = data['enabled'] === true ? [['enabled']] : []
  if (keys.length === 0 && idle.length === 0) return undefined
  const profile = new Map<string, unknown>()
  const model = new Map<string, unknown>()
  const flags: (string | readonly string[])[] = []
  const stuck: { key: string; message: string }[] = []
  const put = (target: Map<string, unknown>, name: string, value: unknown, key: string): void => {
    if (!target.has(name) || target.get(name) === value) target.set(name, value)
    else
      stuck.push({ key, message: `says something else about ${name} than another key of this file: keep one of them` })
  }
  for (const { path, key, to } of keys) {
    const value = valueAt(data, path)
    if (to.kind === 'profile' && to.key === 'ctx_size' && value === 0) continue
    if (to.kind === 'profile') put(profile, to.key, value, key)
    else if (to.kind === 'model') put(model, to.key, value, key)
    else if (to.kind === 'mtp' && typeof value === 'boolean')
      put(value ? model : profile, value ? 'mtp' : 'speculation', value || 'off', key)
    else if (to.kind === 'flag' && isWord(value)) flags.push([to.flag, wordOf(value)])
    else if (to.kind === 'flags' && isWords(value)) flags.push(value)
    else stuck.push({ key, message: 'cannot be read as what it seems to mean: move it by hand' })
  }
  return {
    moved: [...keys.map(({ key }) => key), ...idle.flat()],
    rest: withoutEmptied(withoutPaths(data, [...keys.map(({ path }) => path), ...idle]), data),
    profile: Object.fromEntries(profile),
    flags,
    model: Object.fromEntries(model),
    stuck,
  }
}

/** Tables that hold nothing now and held something before. */
function withoutEmptied(table: Table, before: Table): Table {
  const isEmptied = (key: string, value: unknown) =>
    isTable(value) && Object.keys(value).length === 0 && isTable(before[key]) && Object.keys(before[key]).length > 0
  return Object.fromEntries(Object.entries(table).filter(([key, value]) => !isEmptied(key, value)))
}

function isWord(value: unknown): value is string | number | boolean {
  return typeof value === 'number' || typeof value === 'boolean' || (typeof value === 'string' && value !== '')
}

function wordOf(value: string | number | boolean): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  return String(value)
}

function isWords(value: unknown): value is string | readonly string[] {
  return typeof value === 'string' || (Array.isArray(value) && value.every((word) => typeof word === 'string'))
}
