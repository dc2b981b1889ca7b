import type { SlotRow } from '../contract/slot-row.ts'
import { Hal0Error } from '../kernel/errors.ts'
import type { EngineRoute } from '../runners/runner.ts'
import {
  chooseAnchor,
  chooseRide,
  type Ride,
  type ShadowCounts,
  type ShadowService,
  shadowRow,
  shadowServiceOf,
} from './rules/shadow-rows.ts'
import { ShadowLease } from './shadow-lease.ts'
import { ShownView } from './shadow-view.ts'
import type { SlotManager } from './slot-manager.ts'
import type { AcquireOptions, Lease, SlotView } from './slots.ts'

/** What a shadow slot answers: the NPU's engine has more routes, which are not this slot's. */
const SHADOW_ROUTES: Readonly<Record<ShadowService, readonly EngineRoute[]>> = {
  asr: ['/v1/audio/transcriptions'],
  embed: ['/v1/embeddings'],
}

const NONE: ShadowCounts = { inFlight: 0, queued: 0 }

/**
 * The slots with those that are parts of the NPU's one engine (speech to text, embeddings) shown and served by the slot whose engine it is.
 * Their own actors are there and start nothing. A load of one loads its anchor; what stops is said of the anchor alone.
 * Errors, besides those of the anchor: `slot.not_ready` (no anchor, its switch is off, or was turned on after it started),
 * `slot.illegal_transition` (unload, restart or swap of a shadow). Source: SPEC 8 "NPU".
 */
export function withShadows(manager: SlotManager): SlotManager {
  const counts = new Map<string, ShadowCounts>()
  const count = (name: string, change: Partial<Record<keyof ShadowCounts, number>>): void => {
    const { inFlight, queued } = counts.get(name) ?? NONE
    counts.set(name, { inFlight: inFlight + (change.inFlight ?? 0), queued: queued + (change.queued ?? 0) })
  }

  /** Each slot's own view by name; shown are those in `views`. Both last until a slot is opened or closed. */
  let seen: readonly SlotView[] | undefined
  let views: readonly SlotView[] = []
  const owns = new Map<string, SlotView>()
  function look(): void {
    const now = manager.views()
    if (now === seen) return
    seen = now
    views = now.map((own) => new ShownView(own, { standingOf, counts: (name) => counts.get(name) ?? NONE }))
    owns.clear()
    for (const own of now) owns.set(own.name, own)
  }
  function ownOf(name: string): SlotView | undefined {
    look()
    return owns.get(name)
  }

  /** Undefined = the slot has an engine of its own. */
  function rideOf(own: Pick<SlotRow, 'name' | 'device' | 'type' | 'runner'>): Ride | undefined {
    const service = shadowServiceOf(own)
    if (service === undefined) return undefined
    const anchor = chooseAnchor(manager.views())
    if (anchor === undefined) return chooseRide(own.name, service, undefined, undefined)
    const { name } = anchor
    const facts = { name, restart_needed: [...manager.restartNeeded(name)] }
    return chooseRide(own.name, service, facts, manager.bound(name)?.config.npu)
  }
  function standingOf(own: SlotView): { readonly anchor: SlotView | undefined } | undefined {
    const ride = rideOf(own)
    if (ride === undefined) return undefined
    return { anchor: ride.kind === 'rides' ? ownOf(ride.anchor) : undefined }
  }
  function shown(own: SlotRow): SlotRow {
    const ride = rideOf(own)
    if (ride === undefined) return own
    const anchor = ride.kind === 'rides' ? manager.row(ride.anchor) : undefined
    return shadowRow(own, ride, anchor, counts.get(own.name) ?? NONE)
  }
  function row(name: string): SlotRow | undefined {
    const own = manager.row(name)
    return own === undefined ? undefined : shown(own)
  }
  function rideOfName(name: string): Ride | undefined {
    const own = ownOf(name)
    return own === undefined ? undefined : rideOf(own)
  }

  function wrap(name: string, service: ShadowService, lease: Lease): Lease {
    count(name, { inFlight: 1 })
    return new ShadowLease(name, lease, SHADOW_ROUTES[service], () => count(name, { inFlight: -1 }))
  }
  async function acquire(
    name: string,
    ride: Ride,
    { modelId: _theAnchors, ...options }: AcquireOptions,
  ): Promise<Lease> {
    const { anchor, service } = requireRide(name, ride)
    count(name, { queued: 1 })
    let lease: Lease
    try {
      lease = await manager.acquire(anchor, options)
    } finally {
      count(name, { queued: -1 })
    }
    try {
      // While it waited the switch may have been turned, or another slot have taken the NPU.
      const now = rideOfName(name)
      if (now !== undefined) requireRide(name, now)
    } catch (thrown) {
      lease.release()
      throw thrown
    }
    return wrap(name, service, lease)
  }
  function leaseNow(name: string, modelId: string | undefined): Lease | undefined {
    const ride = rideOfName(name)
    if (ride === undefined) return manager.leaseNow(name, modelId)
    if (ride.kind === 'stranded') return undefined
    const lease = manager.leaseNow(ride.anchor, undefined)
    return lease === undefined ? undefined : wrap(name, ride.service, lease)
  }
  function lookNow(name: string): Lease | undefined {
    const ride = rideOfName(name)
    if (ride === undefined) return manager.lookNow(name)
    const anchors = ride.kind === 'rides' ? manager.lookNow(ride.anchor) : undefined
    return anchors === undefined ? undefined : new ShadowLease(name, anchors, SHADOW_ROUTES[ride.service], () => {})
  }

  const refuseStop = (name: string, verb: 'unload' | 'restart' | 'swap'): void => {
    const ride = rideOfName(name)
    if (ride !== undefined) throw notAlone(name, verb, ride)
  }

  return {
    ...manager,
    rows: () => manager.rows().map(shown),
    row,
    views: () => {
      look()
      return views
    },
    phases: (name) => {
      const ride = rideOfName(name)
      if (ride === undefined) return manager.phases(name)
      return ride.kind === 'rides' ? manager.phases(ride.anchor) : null
    },
    leaseNow,
    lookNow,
    acquire: (name, options) => {
      const ride = rideOfName(name)
      return ride === undefined ? manager.acquire(name, options) : acquire(name, ride, options)
    },
    load: async (name, by) => {
      const ride = rideOfName(name)
      if (ride === undefined) return manager.load(name, by)
      const loaded = await manager.load(requireRide(name, ride).anchor, by)
      return row(name) ?? loaded
    },
    unload: async (name, request) => {
      refuseStop(name, 'unload')
      return manager.unload(name, request)
    },
    restart: async (name, request) => {
      refuseStop(name, 'restart')
      return manager.restart(name, request)
    },
    swap: async (name, override, request) => {
      refuseStop(name, 'swap')
      return manager.swap(name, override, request)
    },
    look: async (name) => shown(await manager.look(name)),
    logPath: (name) => {
      const ride = rideOfName(name)
      return manager.logPath(ride?.kind === 'rides' ? ride.anchor : name)
    },
  }
}

/** Errors: `slot.not_ready` naming the key that is missing. */
function requireRide(slot: string, ride: Ride): Extract<Ride, { kind: 'rides' }> {
  if (ride.kind === 'rides') return ride
  const { message, remedy, anchor } = ride
  throw Hal0Error.of('slot.not_ready', message, {
    details: { slot, remedy, ...(anchor === undefined ? {} : { anchor }) },
  })
}

function notAlone(slot: string, verb: 'unload' | 'restart' | 'swap', ride: Ride): Hal0Error {
  const { anchor } = ride
  if (anchor === undefined) {
    return Hal0Error.of(
      'slot.illegal_transition',
      `${slot} runs nothing of its own: it is a part of the NPU's LLM slot`,
      {
        details: { slot, ...(ride.kind === 'stranded' ? { remedy: ride.remedy } : {}) },
      },
    )
  }
  const remedy =
    verb === 'swap'
      ? `Swap the model of that slot: \`hal0 slot swap ${anchor} TAG\`.`
      : `Do it to that slot: \`hal0 slot ${verb} ${anchor}\`; or turn this part off: \`hal0 slot edit ${anchor} --set npu.${ride.service}=false\`.`
  return Hal0Error.of(
    'slot.illegal_transition',
    `slot ${slot} is a part of the engine of slot ${anchor}: there is nothing of it to ${verb} alone`,
    { details: { slot, anchor, remedy } },
  )
}
