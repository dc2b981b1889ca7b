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
import type { SlotManager } from './slot-manager.ts'
import type { AcquireOptions, Lease } from './slots.ts'

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

  /** Undefined = the slot has an engine of its own. */
  function rideOf(own: SlotRow, rows: () => readonly SlotRow[] = () => manager.rows()): Ride | undefined {
    const service = shadowServiceOf(own)
    if (service === undefined) return undefined
    const anchor = chooseAnchor(rows())
    const switches = anchor === undefined ? undefined : manager.bound(anchor.name)?.config.npu
    return chooseRide(own.name, service, anchor, switches)
  }
  function shown(own: SlotRow, rows?: () => readonly SlotRow[]): SlotRow {
    const ride = rideOf(own, rows)
    return ride === undefined ? own : shadowRow(own, ride, counts.get(own.name) ?? NONE)
  }
  function row(name: string): SlotRow | undefined {
    const own = manager.row(name)
    return own === undefined ? undefined : shown(own)
  }
  function rideOfName(name: string): Ride | undefined {
    const own = manager.row(name)
    return own === undefined ? undefined : rideOf(own)
  }

  async function acquire(name: string, ride: Ride, { signal, waitMs }: AcquireOptions): Promise<Lease> {
    const { anchor, service } = requireRide(name, ride)
    count(name, { queued: 1 })
    let lease: Lease
    try {
      lease = await manager.acquire(anchor.name, { signal, waitMs })
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
    count(name, { inFlight: 1 })
    let isHeld = true
    return {
      ...lease,
      slot: name,
      endpoint: { ...lease.endpoint, routes: SHADOW_ROUTES[service], enableThinking: undefined },
      release: (outcome) => {
        if (isHeld) count(name, { inFlight: -1 })
        isHeld = false
        lease.release(outcome)
      },
    }
  }

  const refuseStop = (name: string, verb: 'unload' | 'restart' | 'swap'): void => {
    const ride = rideOfName(name)
    if (ride !== undefined) throw notAlone(name, verb, ride)
  }

  return {
    ...manager,
    rows: () => {
      const rows = manager.rows()
      return rows.map((own) => shown(own, () => rows))
    },
    row,
    acquire: async (name, options) => {
      const ride = rideOfName(name)
      return ride === undefined ? manager.acquire(name, options) : acquire(name, ride, options)
    },
    load: async (name, by) => {
      const ride = rideOfName(name)
      if (ride === undefined) return manager.load(name, by)
      const loaded = await manager.load(requireRide(name, ride).anchor.name, by)
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
      return manager.logPath(ride?.kind === 'rides' ? ride.anchor.name : name)
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
  const anchor = ride.kind === 'rides' ? ride.anchor.name : ride.anchor
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
