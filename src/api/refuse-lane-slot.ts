import type { SlotRow } from '../contract/slot-row.ts'
import { Hal0Error } from '../kernel/errors.ts'
import { requireRow } from '../slots/slot-manager.ts'
import type { Slots } from '../slots/slots.ts'

/** The row of a slot that people may run and change: a lane's is run by its lane alone. Errors: `slot.not_found`, `lane.slot_managed`. Source: SPEC 12. */
export function refuseLaneSlot(slots: Pick<Slots, 'row' | 'rows'>, name: string): SlotRow {
  const row = requireRow(slots, name)
  if (row.managed_by !== 'lane') return row
  throw Hal0Error.of(
    'lane.slot_managed',
    `slot "${row.name}" belongs to the lane of this name, whose timetable runs it`,
    {
      param: 'name',
      details: {
        slot: row.name,
        remedy: `Steer the lane: \`hal0 lane load ${row.name} MODEL\`, \`hal0 lane unload ${row.name}\` or \`hal0 lane reload ${row.name}\`; \`hal0 lane edit ${row.name}\` changes what it runs when nobody booked it.`,
      },
    },
  )
}
