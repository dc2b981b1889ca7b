import { valueAt, withoutPaths } from './merge-patch.ts'
import { isTable, type Table } from './table.ts'
import { findTuningKeys, spelling } from './tuning-keys.ts'

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

const TO_PROFILE: ReadonlyMap<string, string> = new Map([
  ['ctx_size', 'ctx_size'],
  ['context_size', 'ctx_size'],
  ['context_length', 'ctx_size'],
  ['n_ctx', 'ctx_size'],
  ['max_model_len', 'ctx_size'],
  ['enable_thinking', 'enable_thinking'],
  ['thinking', 'enable_thinking'],
  ['reasoning_effort', 'reasoning_effort'],
  ['reasoning_budget', 'reasoning_budget'],
  ['vision', 'vision'],
  ['speculation', 'speculation'],
])
const TO_FLAG: ReadonlyMap<string, string> = new Map([
  ['parallel', '--parallel'],
  ['n_parallel', '--parallel'],
  ['workers', '--parallel'],
  ['batch_size', '--batch-size'],
  ['ubatch_size', '--ubatch-size'],
  ['flash_attn', '--flash-attn'],
  ['cache_type_k', '--cache-type-k'],
  ['cache_type_v', '--cache-type-v'],
  ['temp', '--temp'],
  ['temperature', '--temp'],
  ['top_k', '--top-k'],
  ['top_p', '--top-p'],
  ['min_p', '--min-p'],
])
const FLAG_LISTS: ReadonlySet<string> = new Set(['extra_args', 'extra_flags', 'args', 'flags'])
const TO_MODEL: ReadonlyMap<string, string> = new Map([
  ['chat_template', 'chat_template'],
  ['chat_template_file', 'chat_template'],
  ['mmproj', 'mmproj'],
  ['drafter', 'drafter'],
  ['draft_model', 'drafter'],
  ['jinja', 'jinja'],
  ['native_ctx', 'native_ctx'],
  ['architecture', 'architecture'],
  ['quant', 'quant'],
  ['size_bytes', 'size_bytes'],
  ['path', 'path'],
  ['files', 'files'],
  ['preferred_profile', 'preferred_profile'],
])

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
  for (const { path, key } of keys) {
    const value = valueAt(data, path)
    const name = spelling(path.at(-1) ?? '')
    const profileKey = TO_PROFILE.get(name)
    const modelKey = TO_MODEL.get(name)
    const flag = TO_FLAG.get(name)
    if (profileKey === 'ctx_size' && value === 0) continue
    if (profileKey !== undefined) put(profile, profileKey, value, key)
    else if (modelKey !== undefined) put(model, modelKey, value, key)
    else if (name === 'mtp' && typeof value === 'boolean')
      put(value ? model : profile, value ? 'mtp' : 'speculation', value || 'off', key)
    else if (flag !== undefined && isWord(value)) flags.push([flag, wordOf(value)])
    else if (FLAG_LISTS.has(name) && isWords(value)) flags.push(value)
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
