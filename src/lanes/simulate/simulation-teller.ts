import type { NewEvent } from '../../contract/events.ts'
import type { LaneRow } from '../../contract/lane.ts'
import type { Clock } from '../../kernel/clock.ts'
import { isoTime } from '../../kernel/units.ts'
import type { Bookings } from '../bookings/bookings.ts'
import type { Lanes } from '../lanes.ts'
import type { Notice } from '../notices/notices.ts'
import { selectRecipients } from '../notices/rules/notice-recipients.ts'
import { type LaneTarget, sameTarget } from '../rules/lane-target.ts'
import type { LaneTally } from './lane-tally.ts'
import type { SimulatedPeople } from './simulated-people.ts'
import type { SimulatedSlot } from './simulated-slot.ts'
import type { SimulationJournal } from './simulation-journal.ts'
import { targetWords, windowText } from './simulation-words.ts'

export interface SimulationTellerDeps {
  readonly bookings: Pick<Bookings, 'show'>
  readonly clock: Clock
  readonly journal: SimulationJournal
  readonly lanes: Pick<Lanes, 'row'>
  readonly people: SimulatedPeople
  readonly lane: (name: string) => { readonly slot: SimulatedSlot; readonly tally: LaneTally }
  readonly zone: string
}

/** Hears what the lanes and the bookings say, and writes it down. */
export interface SimulationTeller {
  publish(event: NewEvent): void
  /** Each notice once a person, as notices are. */
  tell(notice: Notice): void
}

export function createSimulationTeller(deps: SimulationTellerDeps): SimulationTeller {
  const { bookings, clock, journal, lanes, people, zone } = deps
  const told = new Set<string>()

  function laneChanged(name: string): void {
    const row = lanes.row(name, people.admin)
    const { slot, tally } = deps.lane(name)
    tally.stands(row, clock.monotonicMs())
    const { phase, current, target, reason, is_fallback } = row
    const reservation = bookingOf(row)
    const why = reservation === null ? `[${reason}]` : `[${reason} ${reservation}]`
    journal.add(name, `${whatRuns(row, slot.view().running)} ${why}`, {
      ...{ kind: 'lane', phase, current, target, reason, reservation, is_fallback },
    })
  }

  function bookingChanged(event: string, id: string, by: unknown): void {
    const row = bookings.show(id, people.admin)
    const byWhom = by === 'hal0' ? '' : ` by ${String(by)}`
    const use = row.target === null ? 'exclusive' : targetWords(row.target)
    const state = event === 'created' && row.status === 'pending' ? ', to be approved' : ''
    const details = event === 'created' || event === 'changed'
    const window = details ? `: ${windowText(row, isoTime(clock.nowMs()), zone)}, ${use}${state}` : ''
    const note = row.note !== null && !details && byWhom === '' ? `: ${row.note}` : ''
    journal.add(row.lane, `${id} ${event}${byWhom}${window}${note}`, { kind: 'booking', reservation: id, event })
  }

  return {
    publish({ type, source, message, data }) {
      const lane = source.replace(/^lane:/, '')
      const text = message.replace(`lane ${lane}: `, '')
      const [room, word = ''] = type.split('.')
      if (room === 'reservation') return bookingChanged(word, String(data['reservation']), data['by'])
      if (type === 'lane.target' || type === 'lane.phase') return laneChanged(lane)
      if (type === 'lane.failed') {
        const { target, failures } = data as { target: LaneTarget; failures: number }
        const model = target.kind === 'model' ? target.model : ''
        return journal.add(lane, text, { kind: 'failure', model, failures })
      }
      if (type.startsWith('lane.manual')) journal.add(lane, text, { kind: 'manual' })
    },
    tell({ event, booking, occasion, detail, byUserId }) {
      const recipients = selectRecipients({
        event,
        booking,
        byUserId,
        admins: people.admins(),
        byId: (id) => people.byId(id),
      })
      const to = recipients
        .map(({ name }) => name)
        .filter((name) => {
          const key = [event, booking.id, occasion, name].join('\n')
          return !told.has(key) && told.add(key)
        })
      if (to.length === 0) return
      const words = `${event.replace('_', ' ')} ${booking.id}, to ${to.join(', ')}${detail === '' ? '' : `: ${detail}`}`
      journal.add(booking.lane, words, { kind: 'notice', event, reservation: booking.id, to })
    },
  }
}

/** For which booking is it decided? */
function bookingOf({ reason, active, next }: LaneRow): string | null {
  if (reason === 'reserved' || reason === 'exclusive') return active?.id ?? null
  return reason === 'preload' || reason === 'gap' ? (next?.id ?? null) : null
}

function whatRuns(row: LaneRow, running: LaneTarget | undefined): string {
  const { phase, current, target, is_fallback: isFallback } = row
  if (phase === 'waiting') return `${targetWords(target)} cannot be loaded now`
  if (isFallback && phase === 'ready') return `${targetWords(current)} in the place of ${targetWords(target)}`
  const isLeaving = (phase === 'draining' || phase === 'stopping') && running !== undefined
  return isLeaving && !sameTarget(running, current)
    ? `${targetWords(running)}, then ${targetWords(current)}`
    : targetWords(current)
}
