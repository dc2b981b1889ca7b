import type { SlotRow } from '../../src/contract/slot-row.ts'
import type { SlotView } from '../../src/slots/slots.ts'

/** The view of a slot whose row the test makes up; reads the row each time. */
export function viewOf(row: () => SlotRow): SlotView {
  return {
    get name() {
      return row().name
    },
    get aliases() {
      return row().aliases
    },
    get type() {
      return row().type
    },
    get default() {
      return row().default
    },
    get state() {
      return row().state
    },
    get idle_reason() {
      return row().idle_reason
    },
    get model_id() {
      return row().model_id
    },
    get device() {
      return row().device
    },
    get runner() {
      return row().runner
    },
    get in_flight() {
      return row().in_flight
    },
    get lastUsedMs() {
      const at = row().last_used_at
      return at === null ? 0 : Date.parse(at)
    },
  }
}
