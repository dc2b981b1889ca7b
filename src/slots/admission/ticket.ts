import type { Clock } from '../../kernel/clock.ts'
import { deferred } from '../actor/deferred.ts'
import type { Admission, AdmissionRequest } from './admission.ts'
import type { Claim } from './residents.ts'
import type { Asker } from './rules/decide-admission.ts'

/** What a ticket is doing, as its phases are measured. Source: SPEC 5 "phases". */
export type Activity = keyof Admission['phases']

/** One load that waits at the desk. */
export class Ticket {
  readonly request: AdmissionRequest
  readonly arrivedMs: number
  /** Order of arrival. */
  readonly nth: number
  /** Slots that were asked to make way and have not gone yet. */
  readonly claims = new Map<string, Claim>()
  readonly evicted: string[] = []
  freedBytes = 0
  /** It has asked others to go: its turn lasts until it ends. */
  hasTurn = false
  /** Whom it waits for, for people. */
  waitsFor: readonly string[] = []
  /** The memories of which it is short, `host`, `gpu0` …; empty = none, or not known yet. */
  short: ReadonlySet<string> = new Set()
  /** The last reason that was logged. */
  reason = ''
  readonly answer = deferred<Admission>()
  #activity: { readonly what: Activity; readonly sinceMs: number } | undefined
  readonly #spentMs = new Map<Activity, number>()
  readonly #clock: Clock
  #message = ''

  constructor(request: AdmissionRequest, clock: Clock, nth: number) {
    this.request = request
    this.#clock = clock
    this.nth = nth
    this.arrivedMs = clock.monotonicMs()
  }

  get slot(): string {
    return this.request.slot
  }

  get activity(): Activity | undefined {
    return this.#activity?.what
  }

  /** Since when somebody waits: the oldest request, else the load itself. */
  get waitsSinceMs(): number {
    return Math.min(this.request.oldestWaiterMs() ?? Number.POSITIVE_INFINITY, this.arrivedMs)
  }

  asker(groups: Readonly<Record<string, readonly string[]>>): Asker {
    const { slot, device, gpus, need, mode } = this.request
    const mine = Object.values(groups).filter((members) => members.includes(slot))
    const rivals = new Set(mine.flat().filter((member) => member !== slot))
    return { slot, device, gpus, need, mode, rivals, claimed: new Set(this.claims.keys()) }
  }

  /** From now on its time counts as this. */
  turnTo(what: Activity | undefined): void {
    if (what === this.activity) return
    this.#count()
    this.#activity = what === undefined ? undefined : { what, sinceMs: this.#clock.monotonicMs() }
  }

  /** Whole ms of each phase that happened. */
  phases(): Admission['phases'] {
    this.#count()
    this.#activity = undefined
    return Object.fromEntries([...this.#spentMs].map(([what, ms]) => [what, Math.round(ms)]))
  }

  /** For the slot's row; said once. */
  say(message: string): void {
    if (message === this.#message) return
    this.#message = message
    this.request.onWaiting(message)
  }

  /** Whoever made way for it goes on, as far as that is still possible. */
  giveUpClaims(): void {
    const claims = [...this.claims.values()]
    this.claims.clear()
    for (const claim of claims) claim.giveUp()
  }

  #count(): void {
    if (this.#activity === undefined) return
    const { what, sinceMs } = this.#activity
    this.#spentMs.set(what, (this.#spentMs.get(what) ?? 0) + this.#clock.monotonicMs() - sinceMs)
  }
}

/** Whose turn comes first? Those that have begun to make others go, then the one whose oldest request waits longest, then the first that came. */
export function compareTurns(a: Ticket, b: Ticket): number {
  return Number(b.hasTurn) - Number(a.hasTurn) || a.waitsSinceMs - b.waitsSinceMs || a.nth - b.nth
}
