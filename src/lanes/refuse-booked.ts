import { Hal0Error } from '../kernel/errors.ts'
import { listNames } from '../kernel/list-names.ts'
import type { Booking } from './rules/booking.ts'

/** As many are named; the others are counted. */
const MAX_NAMED = 5

/** People count on the lane that they have booked. `open`: its bookings that are not over. Errors: `reservation.state`. */
export function refuseBookedLane(lane: string, open: readonly Booking[]): void {
  const [first] = open
  if (first === undefined) return
  const which = open.length === 1 ? `reservation ${first.id}` : `${open.length} reservations (the next is ${first.id})`
  throw Hal0Error.of(
    'reservation.state',
    `lane ${lane} has ${which} that ${open.length === 1 ? 'is' : 'are'} not over`,
    {
      details: {
        lane,
        reservations: open.map(({ id }) => id),
        remedy: `Cancel first: \`hal0 reservation cancel ${first.id}\`; \`hal0 reservation list --lane ${lane}\` shows them.`,
      },
    },
  )
}

/** What is about to be deleted. */
export type BookedThing =
  | { readonly kind: 'model'; readonly model: string }
  | { readonly kind: 'profile'; readonly profile: string }

/** People count on what they have booked a lane for. `open`: bookings of all lanes that are not over. Errors: `model.in_use`, `profile.in_use`. */
export function refuseBookedTarget(thing: BookedThing, open: readonly Booking[]): void {
  const booked = open.filter(({ use }) => {
    if (use.kind === 'exclusive') return false
    return thing.kind === 'model' ? use.model === thing.model : use.profile === thing.profile
  })
  const [first] = booked
  if (first === undefined) return
  const named = listNames(booked.slice(0, MAX_NAMED).map(({ id, lane }) => `${id} (lane ${lane})`))
  const more = booked.length > MAX_NAMED ? ` and ${booked.length - MAX_NAMED} more` : ''
  const what = thing.kind === 'model' ? `model "${thing.model}"` : `profile "${thing.profile}"`
  const nouns = booked.length === 1 ? 'reservation' : 'reservations'
  const details = {
    ...(thing.kind === 'model' ? { model: thing.model } : { profile: thing.profile }),
    reservations: booked.map(({ id }) => id),
    remedy: `Cancel or change first: \`hal0 reservation cancel ${first.id}\`, \`hal0 reservation edit ${first.id}\`.`,
  }
  const message = `${what} is booked by ${nouns} ${named}${more}`
  throw thing.kind === 'model'
    ? Hal0Error.of('model.in_use', message, { details })
    : Hal0Error.of('profile.in_use', message, { details })
}
