import type { SlotType } from '../../../contract/slot-row.ts'
import { tellSlot } from '../../rules/names.ts'

/** What two slots can be at odds about, besides names. */
export interface SlotPlace {
  readonly name: string
  /** How messages name its file. */
  readonly file: string
  /** It is being made: there is no such file yet. */
  readonly isNew?: boolean
  /** Undefined = hal0 chooses one. */
  readonly port: number | undefined
  readonly type: SlotType
  readonly isDefault: boolean
  /** It binds a model in the one place for an LLM that the NPU has. */
  readonly isNpuLlm: boolean
}

/** Two slots that cannot both have what their files say. */
export interface SlotClash {
  readonly key: 'port' | 'default' | 'device'
  readonly code: 'slot.port_in_use' | 'slot.config_error' | 'slot.npu_exclusivity_violation'
  /** The one that was there first in name order, then the other. */
  readonly slots: readonly [SlotPlace, SlotPlace]
  readonly message: string
}

/**
 * Which slots ask for the same port, are both the default of a type, or both want the NPU's one LLM place? Each further slot gives one
 * clash with the first. Source: SPEC 3 "default", 8 "NPU", 10 "Ports".
 */
export function findSlotClashes(slots: readonly SlotPlace[]): readonly SlotClash[] {
  return [
    ...pairsBy(slots, ({ port }) => port).map(
      ([first, slot]): SlotClash => ({
        key: 'port',
        code: 'slot.port_in_use',
        slots: [first, slot],
        message: `port ${slot.port} is wanted by ${tellSlot(first)} and by ${tellSlot(slot)}: give one of them another, or none (hal0 then chooses)`,
      }),
    ),
    ...pairsBy(slots, ({ isDefault, type }) => (isDefault ? type : undefined)).map(
      ([first, slot]): SlotClash => ({
        key: 'default',
        code: 'slot.config_error',
        slots: [first, slot],
        message: `the default of type "${slot.type}" is claimed by ${tellSlot(first)} and by ${tellSlot(slot)}: only one slot of a type may have default = true`,
      }),
    ),
    ...pairsBy(slots, ({ isNpuLlm }) => isNpuLlm || undefined).map(
      ([first, slot]): SlotClash => ({
        key: 'device',
        code: 'slot.npu_exclusivity_violation',
        slots: [first, slot],
        message: `the NPU serves one LLM, and ${tellSlot(first)} and ${tellSlot(slot)} both bind a model there: empty model.default of one of them`,
      }),
    ),
  ]
}

function pairsBy(
  slots: readonly SlotPlace[],
  claimOf: (slot: SlotPlace) => unknown,
): readonly (readonly [SlotPlace, SlotPlace])[] {
  const firsts = new Map<unknown, SlotPlace>()
  return slots.flatMap((slot) => {
    const claim = claimOf(slot)
    const first = claim === undefined ? undefined : firsts.get(claim)
    if (claim !== undefined && first === undefined) firsts.set(claim, slot)
    return first === undefined ? [] : [[first, slot] as const]
  })
}

/** A slot's port is the one that hal0 itself listens on. */
export function gatewayPortText(port: number | undefined): string {
  return `port ${port} is the gateway's own ([server] port): give the slot another, or none (hal0 then chooses)`
}
