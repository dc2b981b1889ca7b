import type { NewEvent } from '../../contract/events.ts'
import { type CancelTimer, type Clock, sleep } from '../../kernel/clock.ts'
import { messageOf } from '../../kernel/errors.ts'
import type { Log } from '../../kernel/log.ts'
import { counted } from '../../kernel/sentence.ts'
import { isoTime, MINUTE_MS, SECOND_MS } from '../../kernel/units.ts'
import type { Channel, Delivery, DeliveryTable } from './delivery-table.ts'
import { type NextDelivery, nextDelivery, type SendOutcome } from './rules/next-delivery.ts'

/** At once, of each channel: one slow receiver does not hold up all, and nobody is flooded. */
export const MAX_SENDING = 2
/** Of one attempt. */
export const ATTEMPT_MS = 10 * SECOND_MS
/** A store that could not be read or written is tried again so much later. */
export const STORE_RETRY_MS = 30 * SECOND_MS
/** At close, what is being sent may take so long. */
export const CLOSE_WAIT_MS = 2 * SECOND_MS
/** Fewer attempts that fail in a row are no reason to speak of it. */
const QUIET_ATTEMPTS = 3
/** The wall clock may jump: while something waits, it is looked at that often. */
const MAX_SLEEP_MS = MINUTE_MS

/** How a delivery goes out now; `off`: it does not (the channel is not set up any more, the person is gone). */
export type Route =
  | { readonly kind: 'send'; readonly send: (signal: AbortSignal) => Promise<SendOutcome> }
  | { readonly kind: 'off'; readonly reason: string }

export interface DeliveryWorkerDeps {
  readonly clock: Clock
  readonly log: Log
  readonly publish: (event: NewEvent) => void
  readonly table: DeliveryTable
  /** The one that it serves: a mail server that says nothing holds up no webhook. */
  readonly channel: Channel
  readonly routeOf: (delivery: Delivery) => Route
}

/** Sends what is due of one channel, oldest first. */
export interface DeliveryWorker {
  readonly channel: Channel
  /** Something may be due. It is looked at after this turn. */
  wake(): void
  /** What was wrong with the last one, if it was given up or has failed for a while, and when; undefined = it went out. */
  readonly problem: string | undefined
  /** Begins nothing more and waits for what is being sent. What takes longer than `CLOSE_WAIT_MS` is cut off: its end stays unknown. */
  close(): Promise<void>
}

export function createDeliveryWorker(deps: DeliveryWorkerDeps): DeliveryWorker {
  const { clock, log, publish, table, channel, routeOf } = deps
  const sending = new Map<AbortController, Promise<void>>()
  /** Ends that the store did not take. Until it does, the table says that they are unknown. */
  let unwritten: { readonly delivery: Delivery; readonly next: NextDelivery }[] = []
  let problem: string | undefined
  let cancelTimer: CancelTimer = () => {}
  let state: 'open' | 'closing' | 'closed' = 'open'

  function arm(delayMs: number): void {
    cancelTimer()
    if (state === 'open') cancelTimer = clock.setTimer(delayMs, look)
  }

  function look(): void {
    cancelTimer()
    try {
      writeEnds()
      while (state === 'open' && sending.size < MAX_SENDING) {
        const [delivery] = table.due(channel, clock.nowMs(), 1)
        if (delivery === undefined) break
        start(delivery)
      }
      const nextAtMs = table.nextAtMs(channel)
      // With both hands full, the end of a sending looks again.
      if (nextAtMs === undefined || sending.size >= MAX_SENDING) return
      arm(Math.min(Math.max(0, nextAtMs - clock.nowMs()), MAX_SLEEP_MS))
    } catch (thrown) {
      log.debug({ reason: messageOf(thrown) }, 'the outbox of notices cannot be used at present')
      arm(STORE_RETRY_MS)
    }
  }

  function start(delivery: Delivery): void {
    const route = routeOf(delivery)
    if (route.kind === 'off') {
      table.end(delivery, { kind: 'give_up', reason: route.reason }, clock.nowMs())
      return
    }
    table.begin(delivery)
    const controller = new AbortController()
    sending.set(controller, run(delivery, route.send, controller))
  }

  async function run(
    delivery: Delivery,
    send: (signal: AbortSignal) => Promise<SendOutcome>,
    controller: AbortController,
  ): Promise<void> {
    const late = new Error(`no answer came within ${ATTEMPT_MS / SECOND_MS} s`)
    const cancelLimit = clock.setTimer(ATTEMPT_MS, () => controller.abort(late))
    let outcome: SendOutcome
    try {
      outcome = await send(controller.signal)
    } catch (thrown) {
      // Its text is not known to be free of secrets.
      log.error(
        { channel: delivery.channel, kind: thrown instanceof Error ? thrown.name : '' },
        'sending a notice broke',
      )
      outcome = { kind: 'failed', reason: 'hal0 failed unexpectedly while sending' }
    }
    cancelLimit()
    sending.delete(controller)
    if (state === 'closed') return
    const attempts = delivery.attempts + 1
    const next = nextDelivery({ outcome, attempts, createdMs: delivery.createdMs, nowMs: clock.nowMs() })
    note(delivery, attempts, next)
    tell(delivery, attempts, next)
    unwritten.push({ delivery, next })
    look()
  }

  function writeEnds(): void {
    for (let first = unwritten[0]; first !== undefined; first = unwritten[0]) {
      table.end(first.delivery, first.next, clock.nowMs())
      unwritten = unwritten.slice(1)
    }
  }

  function note({ event }: Delivery, attempts: number, next: NextDelivery): void {
    if (next.kind === 'done') {
      problem = undefined
      return
    }
    if (next.kind === 'retry' && attempts < QUIET_ATTEMPTS) return
    const tries = counted(attempts, 'attempt')
    const fate = next.kind === 'retry' ? `is tried again after ${tries}` : `was given up after ${tries}`
    problem = `by ${channel}: a notice (${event}) ${fate}, at ${isoTime(clock.nowMs())}: ${next.reason}`
  }

  function tell({ notificationId, event, lane }: Delivery, attempts: number, next: NextDelivery): void {
    const facts = { notification_id: notificationId, channel, event, lane, attempts }
    if (next.kind === 'done') return log.debug(facts, 'a notice was sent')
    const reason = { ...facts, reason: next.reason }
    if (next.kind === 'retry') return log.debug(reason, 'a notice could not be sent; it is tried again')
    const message = `a notice (${event}) could not be sent by ${channel} and is given up after ${counted(attempts, 'attempt')}: ${next.reason}`
    log.warn(reason, message)
    publish({ type: 'notify.failed', severity: 'warning', source: 'notify', message, data: reason })
  }

  async function close(): Promise<void> {
    state = 'closing'
    cancelTimer()
    if (sending.size > 0) {
      const enough = new AbortController()
      await Promise.race([Promise.all(sending.values()), sleep(clock, CLOSE_WAIT_MS, enough.signal)])
      enough.abort()
    }
    state = 'closed'
    for (const controller of sending.keys()) controller.abort(new Error('hal0 ends'))
    try {
      writeEnds()
    } catch (thrown) {
      log.warn({ reason: messageOf(thrown) }, 'what became of the last notices could not be written')
    }
  }

  let closing: Promise<void> | undefined
  return {
    channel,
    wake: () => arm(0),
    get problem() {
      return problem
    },
    close: () => (closing ??= close()),
  }
}
