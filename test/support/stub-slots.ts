import type { SlotRow } from '../../src/contract/slot-row.ts'
import { Hal0Error } from '../../src/kernel/errors.ts'
import { ENGINE_ROUTES } from '../../src/runners/runner.ts'
import type { AcquireOptions, EngineEndpoint, Lease, Slots } from '../../src/slots/slots.ts'
import { BASE_ROW } from './base-row.ts'
import { viewOf } from './view-of-row.ts'

export interface StubSlot {
  readonly endpoint: EngineEndpoint
  readonly row?: Partial<SlotRow>
  /** Places at the engine; default: no limit. */
  readonly parallel?: number
}

/** `Slots` without actors or processes: leases, a queue of places, and a load that the test opens. */
export interface StubSlots extends Slots {
  /** What happened, in order: `wait NAME`, `lease NAME`, `release NAME`, `left NAME`, and `look NAME` for a look. */
  readonly log: string[]
  /** `waitMs` of each `acquire`; `leaseNow` has none. */
  readonly waits: number[]
  /** `key` of each `acquire`. */
  readonly keys: (string | undefined)[]
  /** `leaseNow` gives leases; false = everybody has to ask `acquire`. Default: true. */
  leasesAtOnce: boolean
  /** `modelId` of each `acquire`, and of each lease that `leaseNow` gave. */
  readonly modelIds: (string | undefined)[]
  leases(): readonly Lease[]
  /** From now on `acquire` waits until `open`. */
  hold(name: string): void
  open(name: string): void
  /** From now on `acquire` rejects with it; undefined = serves again. */
  failWith(error: Hal0Error | undefined): void
  revoke(reason: Hal0Error): void
  engineGone(attemptId: string): void
  /** Resolves when the log holds `entry` so many times. */
  logged(entry: string, times?: number): Promise<void>
  setAttempt(attemptId: string): void
}

export function createStubSlots(slots: Readonly<Record<string, StubSlot>>): StubSlots {
  const rows = Object.entries(slots).map(([name, slot]): SlotRow => ({ ...BASE_ROW, ...slot.row, name }))
  const held = new Map<string, (() => void)[]>()
  const queues = new Map<string, (() => void)[]>()
  const active = new Map<string, number>()
  const live = new Map<Lease, (reason: Hal0Error) => void>()
  const looks = new Map<Lease, (reason: Hal0Error) => void>()
  const views = rows.map((row) => viewOf(() => row))
  const goneListeners = new Set<(attemptId: string) => void>()
  const log: string[] = []
  const watchers = new Set<() => void>()
  const waits: number[] = []
  const keys: (string | undefined)[] = []
  const modelIds: (string | undefined)[] = []
  let failure: Hal0Error | undefined
  let attemptId = 'attempt-1'

  const note = (entry: string): void => {
    log.push(entry)
    for (const check of [...watchers]) check()
  }
  const pump = (name: string): void => {
    const limit = slots[name]?.parallel ?? Number.POSITIVE_INFINITY
    const queue = queues.get(name) ?? []
    while (queue.length > 0 && (active.get(name) ?? 0) < limit && !held.has(name)) queue.shift()?.()
  }
  const never = (what: string) => (): never => {
    throw new Error(`the stub has no ${what}`)
  }

  /** `onRelease`: undefined = it is only a look. */
  function leaseOf(name: string, { endpoint }: StubSlot, onRelease: (() => void) | undefined): Lease {
    const controller = new AbortController()
    let revokedFor: Hal0Error | undefined
    let listener: ((reason: Hal0Error) => void) | undefined
    const lease: Lease = {
      slot: name,
      attemptId,
      endpoint,
      get revokedFor() {
        return revokedFor
      },
      onRevoked(next) {
        listener = next
        if (revokedFor !== undefined) next?.(revokedFor)
      },
      revoked: controller.signal,
      moved() {},
      release() {
        if (onRelease === undefined) return void looks.delete(lease)
        if (!live.delete(lease)) throw new Error('a lease was released twice')
        onRelease()
      },
    }
    const revokedBy = onRelease === undefined ? looks : live
    revokedBy.set(lease, (reason) => {
      revokedFor = reason
      controller.abort(reason)
      listener?.(reason)
    })
    return lease
  }

  function give(name: string, slot: StubSlot): Lease {
    active.set(name, (active.get(name) ?? 0) + 1)
    const lease = leaseOf(name, slot, () => {
      active.set(name, (active.get(name) ?? 0) - 1)
      note(`release ${name}`)
      pump(name)
    })
    note(`lease ${name}`)
    return lease
  }

  function lookNow(name: string): Lease | undefined {
    const slot = slots[name]
    if (slot === undefined) return undefined
    note(`look ${name}`)
    return leaseOf(name, slot, undefined)
  }

  /** As an actor: where nobody waits and there is a place. */
  function leaseNow(name: string, modelId: string | undefined): Lease | undefined {
    const slot = slots[name]
    if (!stub.leasesAtOnce || slot === undefined || failure !== undefined || held.has(name)) return undefined
    if ((queues.get(name) ?? []).length > 0) return undefined
    if ((active.get(name) ?? 0) >= (slot.parallel ?? Number.POSITIVE_INFINITY)) return undefined
    note(`wait ${name}`)
    modelIds.push(modelId)
    return give(name, slot)
  }

  function acquire(name: string, { signal, waitMs, modelId, key }: AcquireOptions): Promise<Lease> {
    const slot = slots[name]
    if (slot === undefined) return Promise.reject(Hal0Error.of('slot.not_found', `There is no slot "${name}"`))
    if (failure !== undefined) return Promise.reject(failure)
    note(`wait ${name}`)
    waits.push(waitMs)
    keys.push(key)
    modelIds.push(modelId)
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined
      const queue = queues.get(name) ?? []
      queues.set(name, queue)
      const leave = (reason: unknown): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', onAbort)
        const at = queue.indexOf(grant)
        if (at >= 0) queue.splice(at, 1)
        note(`left ${name}`)
        reject(reason)
      }
      const onAbort = (): void => leave(signal.reason)
      const grant = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', onAbort)
        resolve(give(name, slot))
      }
      if (signal.aborted) return leave(signal.reason)
      signal.addEventListener('abort', onAbort)
      if (held.has(name)) {
        const loading = () => Hal0Error.of('slot.loading', `Slot "${name}" is loading`, { retryAfterS: 7 })
        timer = setTimeout(() => leave(loading()), waitMs)
      }
      queue.push(grant)
      pump(name)
    })
  }

  const stub: StubSlots = {
    log,
    leasesAtOnce: true,
    views: () => views,
    phases: (name) => rows.find((row) => row.name === name)?.phases ?? null,
    leaseNow,
    lookNow,
    waits,
    keys,
    modelIds,
    rows: () => rows,
    row: (name) => rows.find((row) => row.name === name),
    acquire,
    load: never('load'),
    unload: never('unload'),
    restart: never('restart'),
    logPath: never('log'),
    onEngineGone(listener) {
      goneListeners.add(listener)
      return () => goneListeners.delete(listener)
    },
    leases: () => [...live.keys()],
    hold: (name) => void held.set(name, []),
    open(name) {
      held.delete(name)
      pump(name)
    },
    failWith(error) {
      failure = error
    },
    revoke(reason) {
      for (const revokeOne of [...live.values(), ...looks.values()]) revokeOne(reason)
    },
    engineGone(id) {
      for (const listener of goneListeners) listener(id)
    },
    setAttempt(id) {
      attemptId = id
    },
    logged(entry, times = 1) {
      return new Promise((resolve) => {
        const check = (): void => {
          if (log.filter((line) => line === entry).length < times) return
          watchers.delete(check)
          resolve()
        }
        watchers.add(check)
        check()
      })
    },
  }
  return stub
}

/** The endpoint of slot `agent` at a fake engine (or at any origin), with every route. */
export function agentEndpoint(engine: { readonly origin: string; readonly key?: string }): EngineEndpoint {
  return {
    origin: engine.origin,
    engineKey: engine.key,
    alias: 'agent',
    onClientAbort: 'abort',
    routes: ENGINE_ROUTES,
    enableThinking: undefined,
  }
}
