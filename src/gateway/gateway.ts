import { setMaxListeners } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Guard } from '../access/guard.ts'
import type { Publisher } from '../events/bus.ts'
import type { Clock } from '../kernel/clock.ts'
import { Hal0Error, messageOf, toHal0Error } from '../kernel/errors.ts'
import type { Log } from '../kernel/log.ts'
import type { Slots } from '../slots/slots.ts'
import { sendError, sendPreflight, setCommonHeaders } from './answer.ts'
import type { Doorkeeper } from './arbitrated-lease.ts'
import { Exchange } from './exchange.ts'
import { serveImages } from './routes/images-route.ts'
import { type OnDemandSlot, serveInference } from './routes/inference-route.ts'
import { sendModel, sendModels } from './routes/models-route.ts'
import type { ImageDefaults } from './routes/paint.ts'
import { IMAGES_PATH, INFERENCE_PATHS, matchRoute, pathOf } from './rules/match-route.ts'
import { shortened } from './rules/resolve-route.ts'
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
  readonly onDemand: OnDemandSlot
  /** Asked before every lease; absent = nothing is arbitrated. */
  readonly arbiter?: Doorkeeper
  /** What the file of an image slot says under `[image]`; absent = nothing. */
  readonly imageDefaults?: (slot: string) => ImageDefaults
  readonly log: Log
  readonly clock: Clock
  readonly bus: Publisher
}

const KNOWN_PATHS = ['/v1/models', ...INFERENCE_PATHS, IMAGES_PATH].join(', ')
/** A client may ask again so long after the daemon began to stop: about the time of a restart. */
const RESTART_RETRY_S = 5
/** Time in which the last bytes of an answer have to leave when the gateway closes. */
const LAST_WORDS_MS = 1_000

/** The inference hot path. Source: SPEC 11, DESIGN "The hot path". */
export function createGateway(deps: GatewayDeps): Gateway {
  const { slots, guard, clock, log, bus, onDemand, registeredModels, arbiter } = deps
  const { imageDefaults = () => ({}) } = deps
  const startedMs = clock.nowMs()
  const pools = new EnginePools(clock)
  const exchanges = new Map<Exchange, Promise<unknown>>()
  const unsubscribe = slots.onEngineGone((attemptId) => pools.forget(attemptId))
  const closing = new AbortController()
  // One listener for each image that is being painted, and there may be any number.
  setMaxListeners(0, closing.signal)

  async function serve(exchange: Exchange): Promise<void> {
    const { req, res } = exchange
    try {
      const admitted = guard(req)
      if (!admitted.ok) throw admitted.error
      exchange.caller = admitted.value
      if (closing.signal.aborted) throw stopping()
      await route(exchange)
    } catch (thrown) {
      if (exchange.isClientGone) return
      const error = toHal0Error(thrown)
      if (error.code === 'internal') {
        log.error(
          { request_id: exchange.id, err: messageOf(error.cause), stack: stackOf(error.cause) },
          'request failed',
        )
      }
      if (res.headersSent) res.destroy()
      else sendError(exchange, error)
    } finally {
      const { failure, slot, detail, engineLost } = exchange.facts
      if (engineLost === true) {
        const data = { code: failure, slot, request_id: exchange.id, route: pathOf(req.url ?? '') }
        bus.publish({
          type: 'gateway.engine_lost',
          severity: 'error',
          source: `slot:${slot}`,
          message: detail ?? 'an engine was lost',
          data,
        })
      }
    }
  }

  async function route(exchange: Exchange): Promise<void> {
    const { req, res } = exchange
    const method = req.method ?? ''
    const path = shortened(pathOf(req.url ?? ''))
    const match = matchRoute(method, req.url ?? '')
    const { settings } = deps
    switch (match.kind) {
      case 'preflight':
        return sendPreflight(exchange)
      case 'models':
        return sendModels(exchange, catalog(settings))
      case 'model':
        return sendModel(exchange, match.id, catalog(settings))
      case 'inference':
        return await serveInference(exchange, match.path, engineDeps(settings))
      case 'images':
        return await serveImages(exchange, { ...engineDeps(settings), imageDefaults, stopped: closing.signal })
      case 'unsupported':
        throw Hal0Error.of('dispatch.route_unsupported', `${path} is not served yet`, {
          details: { remedy: `This hal0 serves ${KNOWN_PATHS}.` },
        })
      case 'unknown':
        return sendError(exchange, Hal0Error.of('request.invalid', `There is no ${path}; there are ${KNOWN_PATHS}`), {
          status: 404,
        })
      case 'bad_path':
        throw Hal0Error.of('request.invalid', `The path ${path} has a broken percent escape`)
      case 'wrong_method':
        res.setHeader('Allow', match.allow)
        return sendError(
          exchange,
          Hal0Error.of('request.invalid', `${path} does not take ${method}; it takes ${match.allow}`),
          { status: 405 },
        )
    }
  }

  function engineDeps(settings: GatewaySettings) {
    return { slots, settings, clock, pools, onDemand, registeredModels, arbiter }
  }

  function catalog({ unknownModel, onDemandSlot }: GatewaySettings) {
    return { rows: slots.rows(), registered: registeredModels(), onDemandSlot, unknownModel, startedMs }
  }

  return {
    handle(req, res) {
      const exchange = new Exchange(req, res, { log, clock })
      setCommonHeaders(res, exchange.id)
      const done = Promise.all([serve(exchange), exchange.over]).finally(() => exchanges.delete(exchange))
      exchanges.set(exchange, done)
    },
    inFlight: () => exchanges.size,
    async close() {
      closing.abort(stopping())
      unsubscribe()
      const pending = [...exchanges.values()]
      for (const exchange of exchanges.keys()) exchange.end(stopping())
      await pools.close()
      // A client that takes nothing must not hold the daemon.
      const cancel = clock.setTimer(LAST_WORDS_MS, () => {
        for (const { res } of exchanges.keys()) res.destroy()
      })
      await Promise.all(pending)
      cancel()
    },
  }
}

function stopping(): Hal0Error {
  return Hal0Error.of('slot.unloading', 'hal0 is stopping', { retryAfterS: RESTART_RETRY_S })
}

function stackOf(thrown: unknown): string | undefined {
  return thrown instanceof Error ? thrown.stack : undefined
}
