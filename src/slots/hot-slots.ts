import type { SlotActor } from './actor/actor.ts'
import type { Waiter } from './actor/fair-queue.ts'
import { noSlotError } from './slot-failures.ts'
import type { AcquireOptions, Lease, Slots, SlotView } from './slots.ts'

/** What of the slots is on the way of every request. */
export type HotSlots = Pick<Slots, 'views' | 'phases' | 'leaseNow' | 'lookNow' | 'acquire'>

/** The actors that are open. */
export interface OpenActors {
  find(name: string): SlotActor | undefined
  /** In any order. */
  all(): Iterable<SlotActor>
}

/** The hot side of the slots; `changed` must be called whenever an actor was opened or closed. */
export function createHotSlots(open: OpenActors): HotSlots & { changed(): void } {
  let views: readonly SlotView[] | undefined
  const inOrder = () => [...open.all()].map(({ view }) => view).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  return {
    changed: () => {
      views = undefined
    },
    views: () => (views ??= inOrder()),
    phases: (name) => open.find(name)?.parts.life.lastPhases ?? null,
    leaseNow: (name, modelId) => open.find(name)?.leaseNow(modelId),
    lookNow: (name) => open.find(name)?.lookNow(),
    acquire: (name, options) => {
      const actor = open.find(name)
      if (actor !== undefined) return acquire(actor, options)
      return Promise.reject(noSlotError(name, [...open.all()].map(({ view }) => view.name).toSorted()))
    },
  }
}

function acquire(actor: SlotActor, { signal, waitMs, modelId, key }: AcquireOptions): Promise<Lease> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const leave = () => actor.post({ type: 'withdraw', waiter, reason: signal.reason })
    const settle =
      <T>(end: (value: T) => void) =>
      (value: T) => {
        signal.removeEventListener('abort', leave)
        end(value)
      }
    const waiter: Waiter = { resolve: settle(resolve), reject: settle(reject), waitMs, modelId, key }
    signal.addEventListener('abort', leave, { once: true })
    actor.post({ type: 'acquire', waiter })
  })
}
