import { Hal0Error } from '../../kernel/errors.ts'
import type { Lease } from '../../slots/slots.ts'
import { EarlyStream } from '../answers/early-stream.ts'
import type { BodyBudget } from '../body/body-budget.ts'
import type { ClientSilence } from '../body/client-silence.ts'
import type { BodyHolder } from '../body/engine-body.ts'
import { type JsonBody, type ReceiveOptions, receiveJson } from '../body/read-body.ts'
import type { Exchange } from '../exchange.ts'
import type { BodyFacts } from '../json/body-facts.ts'
import { spliceForEngine } from '../json/splice-model.ts'
import { lanesFor } from '../lane-entry.ts'
import { relay } from '../relay.ts'
import { checkRoute, type RunnersFor } from '../rules/check-route.ts'
import { chooseHeartbeat } from '../rules/choose-heartbeat.ts'
import { engineRequestHeaders } from '../rules/headers.ts'
import { queryWithoutKey, waitLimitMs } from '../rules/match-route.ts'
import { type RouteDecision, resolveRoute } from '../rules/resolve-route.ts'
import type { InferenceRoute } from '../rules/route-table.ts'
import { missingSpeechPairs, type SpeechDefaults } from '../rules/speech-defaults.ts'
import { type Sent, type Served, type SlotDeps, type SlotTarget, sendToSlot } from '../send-to-slot.ts'
import { withBody } from './with-body.ts'

export interface InferenceDeps extends SlotDeps {
  /** Ids of models.toml as they are now. */
  readonly registeredModels: () => ReadonlySet<string>
  /** Undefined = nobody knows; then no runner is refused before its engine is asked. */
  readonly runnersFor: RunnersFor | undefined
  readonly bodies: Bodies
  /** What a slot speaks with where a request does not say. */
  readonly speechDefaults: (slot: string) => SpeechDefaults
}

/** What all bodies share that are read at once. */
export interface Bodies {
  /** For JSON; made once, says what the settings say at the moment it is asked. */
  readonly json: ReceiveOptions
  readonly budget: BodyBudget
  /** Of forms on disk. */
  readonly spill: BodyBudget
  readonly silence: ClientSilence
  /** Absolute path of the folder for forms that do not fit in memory. */
  readonly spillFolder: string
}

/** What resolution has found for a request. */
export interface Target extends SlotTarget {
  readonly route: InferenceRoute
  /** The name that was asked for. */
  readonly model: string | undefined
}

/**
 * A request with a JSON body that an engine answers: read it, find the slot, wait for it, hand it over. Nothing is committed to the client
 * before the engine answers. `done` gets the Hal0Error for the client, or CLIENT_GONE. Source: SPEC 11.
 */
export function serveInference(exchange: Exchange, route: InferenceRoute, deps: InferenceDeps, done: Served): void {
  const waitMs = waitOf(exchange, deps.settings.loadWaitS)
  withBody<JsonBody>(
    exchange,
    (take) => receiveJson(exchange, deps.bodies.json, take),
    (json, end) => sendJsonToSlot(exchange, route, waitMs, json, deps, end),
    done,
  )
}

function sendJsonToSlot(
  exchange: Exchange,
  route: InferenceRoute,
  waitMs: number,
  json: JsonBody,
  deps: InferenceDeps,
  done: Served,
): void {
  const { asked } = json
  const model = asked.model.kind === 'string' && asked.model.value !== '' ? asked.model.value : undefined
  const target = resolveTarget(exchange, route, model, waitMs, deps)
  if (asked.stream && route.answer === 'text') startHeartbeat(exchange, deps.settings.heartbeatS)
  sendToSlot(
    exchange,
    target,
    deps,
    (lease, mayComeAgain, sent) =>
      sendJsonToEngine(exchange, lease, { target, pieces: json.pieces, asked, holder: json }, mayComeAgain, deps, sent),
    done,
  )
}

/** Which slot answers? Notes it, and tells the client of a fallback. Errors: `model_not_found`, `dispatch.no_route`, `dispatch.route_unsupported`. */
export function resolveTarget(
  exchange: Exchange,
  route: InferenceRoute,
  model: string | undefined,
  waitMs: number,
  deps: InferenceDeps,
): Target {
  const { facts } = exchange
  const { slots, settings, runnersFor } = deps
  const rows = slots.views()
  const decision = resolveRoute({
    model,
    needs: route.needs,
    rows,
    unknownModel: settings.unknownModel,
    registered: deps.registeredModels(),
    onDemandSlot: settings.onDemandSlot,
    lanes: lanesFor(deps.lanes, exchange.caller),
  })
  facts.reason = decision.reason
  if (decision.kind === 'error') throw routeError(decision)
  const { slot } = decision
  facts.slot = slot
  if (decision.kind === 'slot' && decision.fallback) exchange.setHeader('X-Hal0-Route', 'fallback')
  const view = rows.find(({ name }) => name === slot)
  const refusal = view === undefined ? undefined : checkRoute({ slot: view, route, rows, runnersFor })
  if (refusal !== undefined) throw refusal
  return { route, slot, onDemandModel: decision.kind === 'on_demand' ? decision.modelId : undefined, model, waitMs }
}

/** Errors: `request.invalid`. */
function startHeartbeat(exchange: Exchange, settingS: number): void {
  const header = exchange.req.headers['x-hal0-heartbeat']
  if (header === undefined && settingS === 0) return
  const choice = Array.isArray(header) ? undefined : chooseHeartbeat(header, settingS)
  if (choice === undefined) {
    throw Hal0Error.of('request.invalid', 'The header X-Hal0-Heartbeat is not a number of seconds from 1 to 60', {
      param: 'X-Hal0-Heartbeat',
    })
  }
  if (choice.kind === 'none') return
  exchange.heartbeatMs = choice.everyMs
  if (choice.kind === 'at_once') exchange.early = new EarlyStream(exchange, choice.everyMs)
}

/** The error of a name that leads nowhere. */
export function routeError({ code, message, remedy }: Extract<RouteDecision, { kind: 'error' }>): Hal0Error {
  return Hal0Error.of(code, message, { param: 'model', ...(remedy === undefined ? {} : { details: { remedy } }) })
}

/** A JSON body that is ready for any engine of its slot. */
export interface ReadyJson {
  readonly target: Target
  readonly pieces: readonly Buffer[]
  readonly asked: BodyFacts
  readonly holder: BodyHolder
}

/** Hands the request to the leased engine. Releases the lease, and calls back once. */
export function sendJsonToEngine(
  exchange: Exchange,
  lease: Lease,
  { target, pieces, asked, holder }: ReadyJson,
  mayComeAgain: boolean,
  deps: InferenceDeps,
  sent: Sent,
): void {
  const { alias, engineKey, routes, enableThinking, usageOnRequest } = lease.endpoint
  const { route, model } = target
  // The engine that is up does not have it, whatever was thought before.
  if (!routes.includes(route.enginePath)) {
    lease.release()
    return sent('over', deps.refusalOf(lease.slot, route))
  }
  const { req } = exchange
  const asksForUsage = usageOnRequest === true && route.asksForUsage && asked.stream && asked.streamOptions === 'absent'
  const body = spliceForEngine(pieces, asked, {
    alias,
    enableThinking: route.knowsThinking ? enableThinking : undefined,
    askForUsage: asksForUsage,
    pairs: route.speaks ? speechPairs(lease.slot, pieces, deps) : undefined,
  })
  let sizeBytes = 0
  for (const piece of body) sizeBytes += piece.length
  relay(
    exchange,
    lease,
    {
      method: 'POST',
      path: route.enginePath + queryWithoutKey(req.url ?? ''),
      headers: engineRequestHeaders(req.rawHeaders, { engineKey, requestId: exchange.id, contentType: 'json' }),
      body: { kind: 'whole', pieces: body, sizeBytes, holder },
      stream: asked.stream,
      answer:
        route.answer === 'media'
          ? { kind: 'media', dialect: route.dialect, askedName: model ?? alias }
          : { kind: 'told', dialect: route.dialect, askedName: model ?? alias, dropsUsageChunk: asksForUsage },
      route,
      mayComeAgain,
    },
    deps,
    sent,
  )
}

/** What the slot's file says of speech where the request says nothing. Such bodies are short. */
function speechPairs(slot: string, pieces: readonly Buffer[], { speechDefaults }: InferenceDeps): readonly string[] {
  const defaults = speechDefaults(slot)
  if (Object.values(defaults).every((value) => value === undefined)) return []
  return missingSpeechPairs(Buffer.concat(pieces).toString('utf8'), defaults)
}

/** How long this request may wait for a load, ms. Errors: `request.invalid`. */
export function waitOf({ req }: Exchange, loadWaitS: number): number {
  const header = req.headers['x-hal0-wait']
  const waitMs = Array.isArray(header) ? undefined : waitLimitMs(header, loadWaitS)
  if (waitMs !== undefined) return waitMs
  throw Hal0Error.of('request.invalid', 'The header X-Hal0-Wait is not a number of seconds, for example 30', {
    param: 'X-Hal0-Wait',
  })
}
