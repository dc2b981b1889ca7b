import { createHash } from 'node:crypto'
import type { Delivery } from './delivery-table.ts'

/** 128 bits: no two messages share one. */
const ID_HEX = 32

/**
 * The name of a message on the wire: the same at every attempt, also of another daemon on the same bookings, so that a receiver can tell
 * what it has already. Letters, digits and `_`.
 */
export function messageId(delivery: Pick<Delivery, 'reservationId' | 'event' | 'occasion' | 'userId'>): string {
  const { reservationId, event, occasion, userId } = delivery
  const key = JSON.stringify([reservationId, event, occasion, userId])
  return `msg_${createHash('sha256').update(key).digest('hex').slice(0, ID_HEX)}`
}
