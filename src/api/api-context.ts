import type { IncomingMessage } from 'node:http'
import type { Context } from 'hono'
import type { Caller } from '../access/caller.ts'
import type { Accounts } from '../access/people.ts'
import type { Sessions } from '../access/sessions.ts'
import type { Arbiter } from '../arbiter/ports.ts'
import type { LaneAdmin } from '../config/lanes/lane-admin.ts'
import type { Models } from '../config/models/models.ts'
import type { Profiles } from '../config/profiles/profiles.ts'
import type { Capacity } from '../contract/capacity.ts'
import type { ConfigReport } from '../contract/config-report.ts'
import type { Hardware } from '../contract/hardware.ts'
import type { RouteExplanation } from '../contract/route-explanation.ts'
import type { RunnerRow } from '../contract/runner.ts'
import type { DaemonFacts, Status } from '../contract/status.ts'
import type { EventBus } from '../events/bus.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Hal0Error } from '../kernel/errors.ts'
import type { Log } from '../kernel/log.ts'
import type { Result } from '../kernel/result.ts'
import type { Bookings } from '../lanes/bookings/bookings.ts'
import type { Lanes } from '../lanes/lanes.ts'
import type { Notices } from '../lanes/notices/notices.ts'
import type { MetricsText } from '../metrics/metrics.ts'
import type { Pulls } from '../models/pull/pulls.ts'
import type { SlotAdmin } from '../slots/slot-admin.ts'
import type { Slots } from '../slots/slots.ts'
import type { LoadHistory } from '../store/load-history.ts'
import type { UsageStore } from '../store/usage-store.ts'
import type { Operations } from './operations.ts'

/** What people manage through the API besides running slots. */
export interface ManagementPorts {
  readonly admin: SlotAdmin
  readonly profiles: Profiles
  readonly models: Models
  readonly pulls: Pulls
  /** Every engine build that hal0 knows, found on this machine or not. */
  readonly runners: () => Promise<readonly RunnerRow[]>
  /** Read at each call; never rejects. */
  readonly hardware: () => Promise<Hardware>
  /** Every file of the home, read afresh. */
  readonly validate: () => Promise<ConfigReport>
  /** hal0.toml with its defaults, as it is in effect; secrets are redacted. */
  readonly settings: () => Readonly<Record<string, unknown>>
  /** What does not stop the daemon, and people should know: see the keys of `Status`. */
  readonly problems: () => Pick<Status, 'settings_problem' | 'history_problem' | 'notify_problem'>
  /** The last loads of each slot; empty where the history is off and the daemon young. */
  readonly loads: Pick<LoadHistory, 'recent'>
  /** Who used how much; of this daemon's life only where history is off. */
  readonly usage: Pick<UsageStore, 'report'>
  /** Memory and who holds it, read at each call. */
  readonly capacity: () => Promise<Capacity>
  /** For Prometheus. */
  readonly metrics: () => Promise<MetricsText>
  /** Language models and images on one GPU. */
  readonly arbiter: Pick<Arbiter, 'status' | 'pin' | 'switchover'>
  readonly lanes: Lanes
  /** The files of the lanes. */
  readonly laneFiles: LaneAdmin
  readonly bookings: Bookings
  readonly accounts: Accounts
  readonly sessions: Sessions
  readonly notices: Pick<Notices, 'list' | 'unread' | 'markRead'>
}

/** A request that somebody would send. */
export interface RouteQuestion {
  readonly model: string
  readonly path: string
  readonly caller: Caller
}

/** What the routes of the management API work with. */
export interface ApiContext {
  readonly slots: Slots
  readonly bus: EventBus
  readonly clock: Clock
  readonly log: Log
  /** Asked per request: the URL is known only once the daemon listens. */
  readonly daemon: () => DaemonFacts
  /** Where people reach this daemon. */
  readonly publicUrl: () => string
  /** Daemon shutdown: event streams end. */
  readonly closing: AbortSignal
  readonly operations: Operations
  readonly ports: ManagementPorts
  /** Which slot would a request go to now? `model` '' = it names none. Asks no engine. */
  readonly explainRoute: (question: RouteQuestion) => RouteExplanation
}

/** Hono's types of our app. `incoming`: the request as it came. */
export interface ApiEnv {
  Bindings: { readonly incoming: IncomingMessage }
  /** `caller`: who asks, as the gate found; undefined = nobody known, on a route that is open. `bodySchema`: what the body is checked against, for messages. */
  Variables: { requestId: string; caller: Caller | undefined; askGate: AskGate; bodySchema?: unknown }
}
/** The gate's answer for this request, as of now. */
export type AskGate = () => Result<Caller | undefined, Hal0Error>
export type ApiRequest = Context<ApiEnv>

/** Who asks, on every route that is not open. */
export function callerOf(c: { get(key: 'caller'): Caller | undefined }): Caller {
  const caller = c.get('caller')
  // Cannot be: the gate lets nobody else in. Were it not so, nothing is done.
  if (caller === undefined) throw new Error('a route that is not open was asked by nobody known')
  return caller
}

/** Hono answers HEAD with the GET handler and drops the body: a stream must not be opened for it. */
export function isHead(c: { readonly req: { readonly raw: Request } }): boolean {
  return c.req.raw.method === 'HEAD'
}
