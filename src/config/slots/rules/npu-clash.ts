import type { SlotRow } from '../../../contract/slot-row.ts'

/** What is looked at of a slot's row. */
export type NpuCandidate = Pick<SlotRow, 'name' | 'type' | 'device' | 'state' | 'model_id' | 'file_model_id'>

/** Two slots that both want the one place for an LLM on the NPU. */
export interface NpuClash {
  /** The one that has it, or comes first. */
  readonly holder: string
  /** Names both, and what to do. */
  readonly message: string
}

/**
 * Is the NPU another slot's, now that `name` is to run a model there? The holder is the LLM slot on the NPU that is up; while none is, one
 * whose file binds a model: before a slot that only has one put in by a swap, then by name. `slots`: every slot; that of `name` may be missing.
 * Undefined = `name` may have it, or does not want it (another device or type). Source: SPEC 8 "NPU".
 */
export function findNpuClash(slots: readonly NpuCandidate[], name: string): NpuClash | undefined {
  const own = slots.find((slot) => slot.name === name)
  if (own !== undefined && !isNpuLlm(own)) return undefined
  const others = slots
    .filter((slot) => slot.name !== name && isNpuLlm(slot) && slot.model_id !== null)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const comesFirst = (other: NpuCandidate): boolean =>
    other.file_model_id !== null && (own === undefined || own.file_model_id === null || other.name < name)
  const holder = others.find(({ state }) => !isDown(state)) ?? (isUp(own) ? undefined : others.find(comesFirst))
  if (holder === undefined) return undefined
  return {
    holder: holder.name,
    message:
      `the NPU serves one LLM, and slot ${holder.name} (model ${holder.model_id}) has it: slot ${name} cannot have a model there as well; ` +
      `empty model.default of one of them, or unload ${holder.name} if it was swapped in`,
  }
}

function isNpuLlm({ device, type }: NpuCandidate): boolean {
  return device === 'npu' && type === 'llm'
}

function isDown(state: SlotRow['state']): boolean {
  return state === 'offline' || state === 'error'
}

function isUp(slot: NpuCandidate | undefined): boolean {
  return slot !== undefined && !isDown(slot.state)
}
