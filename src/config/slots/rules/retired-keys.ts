import { type Table } from '../../toml/rules/table.ts'

/** A key of earlier versions that is accepted and has no effect. */
export interface RetiredKey {
  readonly key: string
  /** What took its place, one sentence. */
  readonly message: string
}

/** What a slot file with `enabled` is told; it is refused, because ignoring `enabled = false` would start what was meant to be off. */
export const ENABLED_IS_GONE =
  'enabled is gone: a non-empty [model] default is what makes a slot active; delete this key, and empty model.default to turn the slot off'

/** Which retired keys does this slot file still carry? Each is told once per slot. Source: SPEC 3 `slot.lru_flag_retired`. */
export function retiredKeysOf(payload: Table): readonly RetiredKey[] {
  if (!Object.hasOwn(payload, 'lru')) return []
  return [{ key: 'lru', message: 'lru has no effect any more: priority and pinned decide what is evicted' }]
}
