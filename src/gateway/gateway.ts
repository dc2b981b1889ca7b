import { setMaxListeners } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Caller, isAdmin, nameOf } from '../access/caller.ts'
import type { Guard } from '../access/guard.ts'
import type { RequestRecord } from '../contract/request-record.ts'
import type { Publisher } from '../events/bus.ts'
import type { Clock } from '../kernel/clock.ts'
import { Hal0Error, messageOf, toHal0Error } from '../kernel/errors.ts'
import type { Log } from '../kernel/log.ts'
import { maskKeys } from '../kernel/mask-keys.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { SwapList } from '../kernel/swap-list.ts'
import { SECOND_MS } from '../kernel/units.ts'
import type { LaneDoor } from '../lanes/lane-door.ts'
import type { Slots } from '../slots/slots.ts'
import { sendError, sendPreflight } from './answer.ts'
import type { Doorkeeper } from './arbitrated-lease.ts'
import { BodyBudget } from './body/body-budget.ts'
import { ClientSilence } from './body/client-silence.ts'
import { createCoalescer } from './coalesce.ts'
import { CLIENT_GONE, Exchange } from './exchange.ts'
import { serveForm } from './routes/form-route.ts'
import { serveImages } from './routes/images-route.ts'
import { type InferenceDeps, serveInference } from './routes/inference-route.ts'
import { type Catalog, sendModel, sendModels } from './routes/models-route.ts'
import type { ImageDefaults } from './routes/paint.ts'
import { serveUpstream } from './routes/upstream-route.ts'
import { type RunnersFor, unsupportedError } from './rules/check-route.ts'
import { KNOWN_PATHS, matchRoute, pathOf, type RouteMatch } from './rules/match-route.ts'
import { shortened } from './rules/resolve-route.ts'
import { IMAGES_PATH, type InferenceRoute } from './rules/route-table.ts'
import type { SpeechDefaults } from './rules/speech-defaults.ts'
import type { OnDemandSlot, Served } from './send-to-slot.ts'
import type { GatewaySettings } from './settings.ts'
import { EnginePools } from './wire/engine-pools.ts'

/** Everything under /v1 and /upstream. Nothing is answered before the guard has let the request in. */
export interface Gateway {
  /** Answers the request, whatever happens. */
  handle(req: IncomingMessage, res: ServerResponse): void
  /** Requests whose answer has not left completely, or on which an engine still works. */
  inFlight(): number
  /** Ends what is in flight (streams get a last error event), refuses what still comes, closes the connections to engines. */
  close(): Promise<void>
}

export interface GatewayDeps {
  readonly slots: Slots
  readonly guard: Guard
  /** Read anew for each request: a getter makes a change apply at once. */
  readonly settings: GatewaySettings
  /** Ids of models.toml as they are now; asked for each request, so it only hands out what is known. */
  readonly registeredModels: () => ReadonlySet<string>
  /** Absent = nobody knows which runner has which route; their engines are asked. */
  readonly runnersFor?: RunnersFor
  readonly onDemand: OnDemandSlot
  /** Asked before every lease; absent = nothing is arbitrated. */
  readonly arbiter?: Doorkeeper
  /** Asked before every request to a lane; absent = there are no lanes. */
  readonly lanes?: LaneDoor
  /** Is nobody defined? Then the guard judges preflights too. Absent = true. */
  readonly isOpenMode?: () => boolean
  /** What the file of an image slot says under `[image]`; absent = nothing. */
  readonly imageDefaults?: (slot: string) => ImageDefaults
  /** What the file of a slot says of speech; absent = nothing. */
  readonly speechDefaults?: (slot: string) => SpeechDefaults
  /** Absolute path of the folder for forms that do not fit in memory; made when it is needed. */
  readonly spillFolder: string
  /** Hears of every request that is over; must cost next to nothing. */
  readonly onRecord: (record: RequestRecord) => void
  readonly log: Log
  readonly clock: Clock
  readonly bus: Publisher
}

/** A client may ask again so long after the daemon began to stop: about the time of a restart. */
const RESTART_RETRY_S = 5
/** Time in which the last bytes of an answer have to leave when the gateway closes. */
const LAST_WORDS_MS = 1_000

/** The inference hot path. Source: SPEC 11, DESIGN "The hot path". */
export function createGateway(deps: GatewayDeps): Gateway {
  const { slots, guard, clock, log, bus, onDemand, registeredModels, runnersFor, arbiter, spillFolder, settings } = deps
  const { lanes, isOpenMode = () => true, imageDefaults = () => ({}), speechDefaults = () => ({}) } = deps
  const startedMs = clock.nowMs()
  const pools = new EnginePools(clock)
  const exchanges = new SwapList<Exchange>()
  const unsubscribe = slots.onEngineGone((attemptId) => pools.forget(attemptId))
  const closing = new AbortController()
  // One listener for each image that is being painted, and there may be any number.
  setMaxListeners(0, closing.signal)
  const budget = new BodyBudget(() => settings.bodyMemoryBytes)
  const silence = new ClientSilence(clock, () => settings.clientStallS * SECOND_MS)
  const json = {
    get limitBytes() {
      return settings.jsonLimitBytes
    },
    budget,
    silence,
  }
  const spill = new BodyBudget(() => settings.spillLimitBytes, 'spill_limit_bytes')
  const bodies = { json, budget, spill, silence, spillFolder }
  const inference: InferenceDeps = {
    slots,
    settings,
    clock,
    pools,
    onDemand,
    registeredModels,
    runnersFor,
    arbiter,
    lanes,
    bodies,
    speechDefaults,
    refusalOf,
  }
  const checkpoints = createCoalescer()
  let onEmpty: (() => void) | undefined

  function refusalOf(name: string, wanted: InferenceRoute, said?: string): Hal0Error {
    const rows = slots.views()
    const slot = rows.find((row) => row.name === name)
    if (slot !== undefined) return unsupportedError({ slot, route: wanted, rows, runnersFor }, said)
    return Hal0Error.of('dispatch.route_unsupported', `The engine of slot "${name}" does not have ${wanted.path}`)
  }

  const ends = {
    onRecord: deps.onRecord,
    onOver(exchange: Exchange): void {
      exchanges.delete(exchange)
      if (exchanges.size === 0) onEmpty?.()
    },
  }

  function handle(req: IncomingMessage, res: ServerResponse): void {
    const exchange = new Exchange(req, res, clock, ends)
    exchanges.add(exchange)
    const done: Served = (failure) => finish(exchange, failure)
    try {
      const match = matchRoute(req.method ?? '', req.url ?? '')
      // A refusal too is told in the route's own shape.
      if (match.kind === 'inference') exchange.dialect = match.route.dialect
      if (match.kind !== 'preflight' || isOpenMode() || !isPreflight(req)) {
        const admitted = guard(req)
        if (!admitted.ok) throw admitted.error
        exchange.admit(admitted.value, () => (match.kind === 'upstream' ? adminOnly(guard(req)) : guard(req)))
      }
      if (closing.signal.aborted) throw stopping()
      route(exchange, match, done)
    } catch (thrown) {
      done(thrown)
    }
  }

  /** `failure`: what is still to be told to the client. */
  function finish(exchange: Exchange, failure: unknown): void {
    if (failure !== undefined && failure !== CLIENT_GONE && !exchange.isClientGone) tell(exchange, toHal0Error(failure))
    if (exchange.facts.engineLost === true) publishLoss(exchange)
    exchange.served()
  }

  function tell(exchange: Exchange, error: Hal0Error): void {
    if (error.code === 'internal') {
      const { cause } = error
      const stack = cause instanceof Error ? cause.stack : undefined
      log.error({ request_id: exchange.id, err: messageOf(cause), stack }, 'request failed')
    }
    if (exchange.res.headersSent && exchange.early?.isOpen !== true) exchange.res.destroy()
    else sendError(exchange, error)
  }

  function publishLoss({ facts, req, id }: Exchange): void {
    const { failure, slot, detail } = facts
    bus.publish({
      type: 'gateway.engine_lost',
      severity: 'error',
      source: `slot:${slot}`,
      message: detail ?? 'an engine was lost',
      data: { code: failure, slot, request_id: id, route: maskKeys(pathOf(req.url ?? '')) },
    })
  }

  function route(exchange: Exchange, match: RouteMatch, done: Served): void {
    const { req, facts } = exchange
    switch (match.kind) {
      case 'inference':
        facts.route = match.route.path
        if (match.route.body === 'form') return serveForm(exchange, match.route, inference, done)
        return serveInference(exchange, match.route, inference, done)
      case 'images':
        facts.route = IMAGES_PATH
        return settle(
          serveImages(exchange, { ...inference, imageDefaults, checkpoints, stopped: closing.signal }),
          done,
        )
      case 'upstream':
        facts.route = '/upstream'
        refuseMember(exchange.caller)
        return settle(serveUpstream(exchange, match, inference), done)
      case 'preflight':
        sendPreflight(exchange)
        return done()
      case 'models':
        facts.route = '/v1/models'
        sendModels(exchange, catalog(exchange))
        return done()
      case 'model':
        facts.route = '/v1/models'
        sendModel(exchange, match.id, catalog(exchange))
        return done()
      case 'unknown':
        refuse(exchange, `There is no ${pathShown(exchange)}; there are ${KNOWN_PATHS.join(', ')}`, 404)
        return done()
      case 'bad_path':
        throw Hal0Error.of('request.invalid', `The path ${pathShown(exchange)} has a broken percent escape`)
      case 'wrong_method':
        exchange.setHeader('Allow', match.allow)
        refuse(exchange, `${pathShown(exchange)} does not take ${req.method}; it takes ${match.allow}`, 405)
        return done()
    }
  }

  function catalog({ caller }: Exchange): Catalog {
    const { unknownModel, onDemandSlot } = settings
    const problemOf = (slot: string): string | null => slots.row(slot)?.config_problem ?? null
    const isLane = (slot: string): boolean => lanes?.standing(slot, caller) !== undefined
    const listed = { rows: slots.views(), registered: registeredModels(), onDemandSlot, unknownModel }
    return { ...listed, startedMs, problemOf, isLane }
  }

  return {
    handle,
    inFlight: () => exchanges.size,
    async close() {
      closing.abort(stopping())
      unsubscribe()
      const isEmpty = new Promise<void>((resolve) => {
        onEmpty = resolve
      })
      for (const exchange of exchanges.all()) exchange.end(stopping())
      bodies.silence.close()
      await pools.close(stopping())
      if (exchanges.size === 0) return
      // A client that takes nothing must not hold the daemon.
      const cancel = clock.setTimer(LAST_WORDS_MS, () => {
        for (const { res } of exchanges.all()) res.destroy()
      })
      await isEmpty
      cancel()
    },
  }
}

/** A browser asks before it sends a key, and cannot send one with the question. */
function isPreflight({ headers }: IncomingMessage): boolean {
  return headers.origin !== undefined && headers['access-control-request-method'] !== undefined
}

/** What an engine has besides /v1 tells paths and steers it. Errors: `auth.forbidden`. Source: SPEC 14 "Roles". */
function refuseMember(caller: Caller): void {
  const admitted = adminOnly(ok(caller))
  if (!admitted.ok) throw admitted.error
}

function adminOnly(admitted: Result<Caller, Hal0Error>): Result<Caller, Hal0Error> {
  if (!admitted.ok || isAdmin(admitted.value)) return admitted
  const error = Hal0Error.of(
    'auth.forbidden',
    `/upstream needs the role admin; ${nameOf(admitted.value)} is a member`,
    {
      details: { needs_role: 'admin', remedy: 'Use the routes of /v1, or the key of an administrator.' },
    },
  )
  return err(error)
}

function settle(work: Promise<void>, served: Served): void {
  work.then(
    () => served(),
    (failure: unknown) => served(failure),
  )
}

function refuse(exchange: Exchange, message: string, status: number): void {
  sendError(exchange, Hal0Error.of('request.invalid', message), { status })
}

function pathShown({ req }: Exchange): string {
  return shortened(pathOf(req.url ?? ''))
}

function stopping(): Hal0Error {
  return Hal0Error.of('slot.unloading', 'hal0 is stopping', { retryAfterS: RESTART_RETRY_S })
}
