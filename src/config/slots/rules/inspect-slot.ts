import { valueAt, withoutPaths } from '../../toml/rules/merge-patch.ts'
import { findSchemaMistakes } from '../../toml/rules/schema-mistakes.ts'
import { isTable, type Table } from '../../toml/rules/table.ts'
import { envOwnerOf } from './denied-env.ts'
import { ENABLED_IS_GONE } from './retired-keys.ts'
import { type SlotConfig, slotFileSchema } from './slot-schema.ts'
import { findTuningKeys, type TuningOwner } from './tuning-keys.ts'

/** One thing that a slot may not say. `key`: dotted; '' = the slot as a whole. */
export interface SlotFinding {
  readonly kind: 'tuning' | 'env' | 'tune' | 'schema'
  readonly path: readonly string[]
  readonly key: string
  /** What was expected, and what to do. */
  readonly message: string
  /** Of a tuning key. */
  readonly owner?: TuningOwner
}

/** A slot's data, looked at: usable, or everything that is wrong with it. */
export type SlotInspection =
  | { readonly ok: true; readonly config: SlotConfig }
  | { readonly ok: false; readonly findings: readonly [SlotFinding, ...SlotFinding[]] }

/**
 * May a slot say this? `payload` is the whole slot, `name` the one it must have. All findings at once, tuning keys first.
 * Source: SPEC 3 "One gate".
 */
export function inspectSlot(payload: Table, name: string): SlotInspection {
  const keys = [...findKeyFindings(payload, { isPatch: false })]
  const rest = withoutPaths(
    payload,
    keys.filter(({ kind }) => kind !== 'env').map(({ path }) => path),
  )
  const parsed = slotFileSchema.safeParse(rest)
  const schema = parsed.success
    ? findContradictions(parsed.data, payload, name)
    : findSchemaMistakes(slotFileSchema, parsed.error).map(({ path, expected }) => finding('schema', path, expected))
  const [first, ...others] = [...keys, ...schema]
  if (first !== undefined) return { ok: false, findings: [first, ...others] }
  // Without findings the schema has accepted it.
  return parsed.success
    ? { ok: true, config: parsed.data }
    : { ok: false, findings: [finding('schema', [], 'cannot be read')] }
}

/**
 * What a payload may not name, whatever the rest of the slot says. Of a patch: null deletes, so it may name anything.
 */
export function findKeyFindings(payload: Table, { isPatch }: { readonly isPatch: boolean }): readonly SlotFinding[] {
  const tuning = findTuningKeys(payload, { deletable: isPatch }).map(
    ({ path, key, owner, advice }): SlotFinding => ({
      kind: 'tuning',
      path,
      key,
      owner,
      message: `${key} is no key of a slot: ${advice}`,
    }),
  )
  const env = valueAt(payload, ['server', 'env'])
  const denied = Object.entries(isTable(env) ? env : {}).flatMap(([variable, value]) => {
    const owner = envOwnerOf(variable)
    if (owner === undefined || (isPatch && value === null)) return []
    return [finding('env', ['server', 'env', variable], `a slot may not set ${variable}: ${owner}`)]
  })
  const isEnabledNamed = Object.hasOwn(payload, 'enabled') && !(isPatch && payload['enabled'] === null)
  const gone = isEnabledNamed ? [finding('schema', ['enabled'], ENABLED_IS_GONE)] : []
  return [...tuning, ...denied, ...gone]
}

function findContradictions(config: SlotConfig, payload: Table, name: string): readonly SlotFinding[] {
  const found: SlotFinding[] = []
  if (config.name !== name) found.push(finding('schema', ['name'], `expected "${name}", the name of the file`))
  const repeated = config.aliases.filter((alias, nth) => config.aliases.indexOf(alias) !== nth)
  for (const alias of new Set(repeated)) found.push(finding('schema', ['aliases'], `"${alias}" is there twice`))
  if (config.aliases.includes(config.name)) {
    found.push(finding('schema', ['aliases'], `"${config.name}" is the slot's own name and needs no alias`))
  }
  const tuned = Object.keys(config.tune)
  const tune = tuned.join(', ')
  if (tuned.length > 0 && config.device === 'npu') {
    found.push(finding('tune', ['tune'], `[tune] (${tune}) has no effect on device "npu": set it on the profile`))
  } else if (tuned.length > 0 && config.type !== 'llm') {
    found.push(
      finding(
        'tune',
        ['tune'],
        `[tune] (${tune}) is for slots of type "llm", this one is "${config.type}": set it on the profile`,
      ),
    )
  }
  if (Object.hasOwn(payload, 'npu') && config.device !== 'npu') {
    found.push(
      finding('schema', ['npu'], `[npu] is for device "npu", this slot's is "${config.device}": delete the table`),
    )
  }
  return found
}

function finding(kind: SlotFinding['kind'], path: readonly string[], message: string): SlotFinding {
  return { kind, path, key: path.join('.'), message }
}
