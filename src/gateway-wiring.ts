import { join } from 'node:path'
import type { Guard } from './access/guard.ts'
import type { ManagementPorts, RouteQuestion } from './api/api-context.ts'
import type { LiveSettings } from './config/settings/live-settings.ts'
import type { RouteExplanation } from './contract/route-explanation.ts'
import type { EventBus } from './events/bus.ts'
import type { Home } from './files/home.ts'
import type { Fleet } from './fleet.ts'
import { createGateway, type Gateway } from './gateway/gateway.ts'
import { lanesFor } from './gateway/lane-entry.ts'
import { createLedger, type RequestLedger } from './gateway/ledger.ts'
import { createRequestLog } from './gateway/ledger-log.ts'
import { explainRoute } from './gateway/rules/explain-route.ts'
import type { OnDemandSlot } from './gateway/send-to-slot.ts'
import type { GatewaySettings } from './gateway/settings.ts'
import type { Clock } from './kernel/clock.ts'
import type { Log } from './kernel/log.ts'
import type { LaneDoor } from './lanes/lane-door.ts'
import type { RunnerRegistry } from './runners/registry.ts'
import type { EngineRoute, Runner } from './runners/runner.ts'

/** The gateway with what it tells of requests, and the same walk for those who ask how a request would go. */
export interface WiredGateway {
  readonly gateway: Gateway
  readonly ledger: RequestLedger
  readonly explain: (question: RouteQuestion) => RouteExplanation
}

export interface GatewayWiring {
  readonly home: Home
  readonly fleet: Fleet
  readonly guard: Guard
  /** Is nobody defined? */
  readonly isOpenMode: () => boolean
  readonly lanes: LaneDoor
  readonly settings: GatewaySettings
  readonly live: Pick<LiveSettings, 'modelIds'>
  readonly runners: RunnerRegistry
  readonly onDemand: OnDemandSlot
  readonly clock: Clock
  readonly log: Log
  /** Of the daemon's log; undefined = requests are not logged. */
  readonly writeInfo: ((lines: string) => void) | undefined
  readonly bus: EventBus
}

/** Builds the inference path of the daemon. */
export function wireGateway(wiring: GatewayWiring): WiredGateway {
  const { home, fleet, guard, settings, live, runners, onDemand, clock, log, bus } = wiring
  const { slots, arbiter, imageDefaults, speechDefaults, metrics, store } = fleet
  const ledger = createLedger(clock, [createRequestLog(wiring.writeInfo), metrics.onRequests, store.usage.record], log)
  const runnersFor = runnersByRoute(runners)
  const registeredModels = (): ReadonlySet<string> => live.modelIds()
  const gateway = createGateway({
    ...{
      slots,
      guard,
      isOpenMode: wiring.isOpenMode,
      lanes: wiring.lanes,
      settings,
      onDemand,
      registeredModels,
      runnersFor,
      arbiter,
      imageDefaults,
      speechDefaults,
      log,
      clock,
      bus,
    },
    spillFolder: join(home.varLib, 'tmp'),
    onRecord: (record) => ledger.add(record),
  })
  return {
    gateway,
    ledger,
    explain: ({ caller, ...question }) => {
      const { unknownModel, onDemandSlot } = settings
      const registered = registeredModels()
      const problemOf = (slot: string): string | null => slots.row(slot)?.config_problem ?? null
      const walk = { rows: slots.views(), unknownModel, onDemandSlot, registered, runnersFor, problemOf }
      return explainRoute({ ...question, ...walk, lanes: lanesFor(wiring.lanes, caller) })
    },
  }
}

/** The counts and sums that are asked for, with all requests that are over by then: whoever has their answer finds it counted. */
export function upToDate(
  { metrics, usage }: Pick<ManagementPorts, 'metrics' | 'usage'>,
  ledger: Pick<RequestLedger, 'flush'>,
): Pick<ManagementPorts, 'metrics' | 'usage'> {
  return {
    metrics: () => {
      ledger.flush()
      return metrics()
    },
    usage: {
      report: (query) => {
        ledger.flush()
        return usage.report(query)
      },
    },
  }
}

/** Which runners have a route; looked up once for each set of runners. */
function runnersByRoute(runners: RunnerRegistry): (route: EngineRoute) => readonly string[] {
  let known: readonly Runner[] | undefined
  let byRoute = new Map<EngineRoute, readonly string[]>()
  return (route) => {
    const all = runners.all()
    if (all !== known) {
      known = all
      byRoute = new Map()
    }
    const before = byRoute.get(route)
    if (before !== undefined) return before
    const keys = all.filter(({ routes }) => routes.includes(route)).map(({ key }) => key)
    byRoute.set(route, keys)
    return keys
  }
}
