import type { Clock } from '../../kernel/clock.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { isoTime, SECOND_MS } from '../../kernel/units.ts'
import type { SimulatedWorld } from './simulated-world.ts'
import { clockText } from './simulation-words.ts'

export interface SimulatedRequest {
  readonly lane: string
  readonly user: string
  /** How long its answer takes. */
  readonly ms: number
}

/** A request to a lane, as the gateway makes it: the access list, a lease, a stream that ends by itself or is cut. */
export function sendRequest(
  { lane, user, ms }: SimulatedRequest,
  world: SimulatedWorld,
  clock: Clock,
  zone: string,
): void {
  const { slot, tally } = world.lane(lane)
  const begunAt = clockText(isoTime(clock.nowMs()), zone)
  const what = `${user}, ${ms / SECOND_MS} s`

  function refused(error: Hal0Error): void {
    const retry = error.retryAfterS === undefined ? '' : `, again in ${error.retryAfterS} s`
    tally.count('refused')
    world.journal.add(lane, `${what}: refused, ${error.code}${retry}`, {
      ...{ kind: 'request', user, outcome: 'refused', code: error.code },
    })
  }

  const entered = world.lanes.door.enter(lane, world.people.caller(user), (error) =>
    over('cut', error.code, error.code),
  )
  if (entered === undefined) throw new Error(`the scenario has no lane ${lane}`)
  if (entered instanceof Hal0Error) return refused(entered)
  const stay = entered
  let isOver = false
  const release = slot.lease(() => {
    over('cut', slot.view().state === 'draining' ? 'drain_seconds are over' : 'the engine ends', null)
  })
  const cancel = clock.setTimer(ms, () => over('served', '', null))
  const shut = stay.leased()
  if (shut === undefined) return
  leave()
  refused(shut)

  function over(outcome: 'served' | 'cut', why: string, code: string | null): void {
    if (isOver) return
    leave()
    tally.count(outcome)
    world.journal.add(lane, `${what} from ${begunAt}: ${outcome}${why === '' ? '' : `, ${why}`}`, {
      kind: 'request',
      user,
      outcome,
      code,
    })
  }
  function leave(): void {
    isOver = true
    cancel()
    release()
    stay.leave()
  }
}
