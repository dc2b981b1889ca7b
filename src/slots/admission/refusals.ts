import { Hal0Error } from '../../kernel/errors.ts'
import { gibText, SECOND_MS } from '../../kernel/units.ts'
import { type Shortage } from './rules/shortage.ts'
import type { Ticket } from './ticket.ts'

/** How soon it is worth asking again when busy slots hold the memory. */
const BUSY_RETRY_S = 5

/** Not curable even by unloading every slot that may be unloaded. Source: SPEC 7, 507 `slot.preload_evict_insufficient`. */
export function insufficient(ticket: Ticket, shortage: Shortage): Hal0Error {
  const { evicted, freedBytes } = ticket
  const done = evicted.length > 0 ? `; ${evicted.join(', ')} already unloaded, which gave ${gibText(freedBytes)}` : ''
  return Hal0Error.of('slot.preload_evict_insufficient', `${shortage.text}${done}`, {
    details: {
      slot: ticket.slot,
      evicted: [...evicted],
      freed_bytes: Math.round(freedBytes),
      free_bytes: Math.round(shortage.freeBytes),
      needed_bytes: Math.round(shortage.neededBytes),
      evictable_bytes: Math.round(shortage.evictableBytes),
      shortfall_bytes: Math.round(shortage.shortfallBytes),
      pinned: shortage.pinned.map(({ slot, bytes }) => ({
        slot,
        held_bytes: bytes === undefined ? null : Math.round(bytes),
      })),
      remedy: shortage.remedy,
    },
  })
}

/** The wait for memory is over, and others still have it. */
export function stillHeld(ticket: Ticket, waitedMs: number): Hal0Error {
  const holders = ticket.waitsFor.length > 0 ? `slots ${ticket.waitsFor.join(', ')}` : 'other loads'
  return Hal0Error.of(
    'slot.loading',
    `slot ${ticket.slot} has waited ${Math.round(waitedMs / SECOND_MS)} s for memory that ${holders} hold: ${ticket.reason}. They are busy, or come first; ask again`,
    { retryAfterS: BUSY_RETRY_S, details: { slot: ticket.slot, waits_for: [...ticket.waitsFor] } },
  )
}

/** The daemon ends. */
export function closed(slot: string): Hal0Error {
  return Hal0Error.of('slot.unloading', `hal0 is shutting down; slot ${slot} is not loaded any more`, {
    retryAfterS: BUSY_RETRY_S,
  })
}
