import { Hal0Error } from '../../kernel/errors.ts'
import { SECOND_MS } from '../../kernel/units.ts'
import { remadeSoonError } from '../../slots/slot-failures.ts'
import type { Lease, Slots } from '../../slots/slots.ts'
import { sendError } from '../answer.ts'
import { acquireArbitrated, type Doorkeeper } from '../arbitrated-lease.ts'
import { readBody } from '../body/read-body.ts'
import type { Exchange } from '../exchange.ts'
import type { ScanFault } from '../json/json-scanner.ts'
import { type BodyFacts, BodyScan, placeOf } from '../json/scan-body.ts'
import { spliceForEngine } from '../json/splice-model.ts'
import { type RelayDeps, type RelayOutcome, relay } from '../relay.ts'
import { engineRequestHeaders } from '../rules/headers.ts'
import {
  type EnginePath,
  type InferencePath,
  queryWithoutKey,
  slotTypeFor,
  THINKING_PATHS,
  waitLimitMs,
} from '../rules/match-route.ts'
import { publicSlotError } from '../rules/public-error.ts'
import { type RouteDecision, resolveRoute } from '../rules/resolve-route.ts'
import { serverTiming } from '../rules/server-timing.ts'

/** The slot that serves registered models which no slot binds. Source: SPEC 11 "Resolution" 3. */
export interface OnDemandSlot {
  /** Makes `[dispatcher] on_demand_slot` where it does not exist yet. Rejects with a Hal0Error. */
  ensure(): Promise<void>
}

export interface InferenceDeps extends RelayDeps {
  readonly slots: Slots
  readonly onDemand: OnDemandSlot
  /** Ids of models.toml as they are now. */
  readonly registeredModels: () => ReadonlySet<string>
  /** Undefined = nothing is arbitrated. */
  readonly arbiter?: Doorkeeper | undefined
}

/** A request that is ready for any engine of its slot. */
export interface Ready {
  readonly path: EnginePath
  readonly slot: string
  /** The slot has to have this model: it is the one on demand. */
  readonly onDemandModel: string | undefined
  readonly body: Buffer
  readonly asked: BodyFacts
  readonly model: string | undefined
  readonly waitMs: number
}

/**
 * A request that an engine answers: read it, find the slot, wait for it, hand it over. Nothing is committed to the client before
 * the engine answers. Rejects with the Hal0Error for the client, or with CLIENT_GONE. Source: SPEC 11.
 */
export async function serveInference(exchange: Exchange, path: InferencePath, deps: InferenceDeps): Promise<void> {
  const { res, facts } = exchange
  const { settings, slots } = deps
  const waitMs = waitOf(exchange, settings.loadWaitS)
  const { body, asked } = await readAsked(exchange, settings.jsonLimitBytes)
  const model = asked.model.kind === 'string' && asked.model.value !== '' ? asked.model.value : undefined

  const { unknownModel, onDemandSlot } = settings
  const registered = deps.registeredModels()
  const decision = resolveRoute({
    model,
    needs: slotTypeFor(path),
    rows: slots.rows(),
    unknownModel,
    registered,
    onDemandSlot,
  })
  facts.reason = decision.reason
  if (decision.kind === 'error') throw routeError(decision)
  const { slot } = decision
  facts.slot = slot
  if (decision.kind === 'slot' && decision.fallback) res.setHeader('X-Hal0-Route', 'fallback')
  const onDemandModel = decision.kind === 'on_demand' ? decision.modelId : undefined
  const ready = { path, slot, onDemandModel, body, asked, model, waitMs }
  await sendToSlot(exchange, ready, deps, (lease, mayComeAgain) =>
    sendToEngine(exchange, lease, ready, mayComeAgain, deps),
  )
}

/** The error of a name that leads nowhere. */
export function routeError({ code, message, remedy }: Extract<RouteDecision, { kind: 'error' }>): Hal0Error {
  return Hal0Error.of(code, message, { param: 'model', ...(remedy === undefined ? {} : { details: { remedy } }) })
}

/** An engine may be gone whenever a request comes to it; one that keeps dying is given up after so many. */
const MAX_LEASES = 5

/** Has the request answered under this lease, and releases it. `mayComeAgain`: it may be left unread, for another lease. */
type SendLeased = (lease: Lease, mayComeAgain: boolean) => Promise<RelayOutcome>

/** An engine that is gone before it has read its request costs another lease, within the same wait. */
export async function sendToSlot(
  exchange: Exchange,
  ready: Ready,
  deps: InferenceDeps,
  send: SendLeased,
): Promise<void> {
  const begunMs = deps.clock.monotonicMs()
  let { waitMs } = ready
  for (let nth = 1; nth <= MAX_LEASES; nth++) {
    const lease = await acquire(exchange, ready, waitMs, deps)
    if (lease === undefined) return
    if ((await send(lease, nth < MAX_LEASES)) === 'over') return
    if (exchange.signal.aborted) throw exchange.signal.reason
    waitMs = Math.max(0, ready.waitMs - (deps.clock.monotonicMs() - begunMs))
  }
}

/** Hands the request to the leased engine as it is. Releases the lease. Errors: `dispatch.route_unsupported`. */
export async function sendToEngine(
  exchange: Exchange,
  lease: Lease,
  { path, body, asked, model }: Ready,
  mayComeAgain: boolean,
  deps: RelayDeps,
): Promise<RelayOutcome> {
  const { alias, engineKey, routes, enableThinking: thinking } = lease.endpoint
  if (!routes.includes(path)) {
    lease.release()
    throw Hal0Error.of(
      'dispatch.route_unsupported',
      `The engine of slot "${lease.slot}" does not have ${path}; it has ${routes.join(', ')}`,
      { details: { slot: lease.slot, routes } },
    )
  }
  const { req } = exchange
  const enableThinking = THINKING_PATHS.includes(path) ? thinking : undefined
  return await relay(
    exchange,
    lease,
    {
      path: path + queryWithoutKey(req.url ?? ''),
      headers: engineRequestHeaders(req.headers, { engineKey, requestId: exchange.id }),
      body: spliceForEngine(body, asked, { alias, enableThinking }),
      stream: asked.stream,
      askedName: model ?? alias,
      mayComeAgain,
    },
    deps,
  )
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

/** The body, a byte order mark taken off, and what it asks for; looked at while it comes, so that a mistake ends it early. */
export async function readAsked(
  { req, signal }: Exchange,
  limitBytes: number,
): Promise<{ readonly body: Buffer; readonly asked: BodyFacts }> {
  const scan = new BodyScan()
  const received = await readBody(req, {
    limitBytes,
    signal,
    look(piece, soFar) {
      const fault = scan.push(piece)
      if (fault !== undefined) throw badBody(fault, soFar().subarray(scan.bomBytes))
    },
  })
  const body = received.subarray(scan.bomBytes)
  const scanned = scan.end()
  if (!scanned.ok) throw badBody(scanned.error, body)
  if (scanned.value.model.kind === 'other') {
    throw Hal0Error.of('request.invalid', 'The field "model" is not a string', { param: 'model' })
  }
  return { body, asked: scanned.value }
}

function badBody({ offset, expected }: ScanFault, text: Buffer): Hal0Error {
  const place = placeOf(text, offset)
  const where = place === undefined ? `byte ${offset}` : `line ${place.line}, column ${place.column}`
  return Hal0Error.of(
    'request.invalid',
    `The request body is not the JSON object it should be: ${where}: expected ${expected}`,
    { details: { ...place, byte_offset: offset, expected } },
  )
}

/** Undefined = the answer has been given here. */
async function acquire(
  exchange: Exchange,
  { slot, onDemandModel }: Ready,
  waitMs: number,
  { slots, onDemand, arbiter, settings }: InferenceDeps,
): Promise<Lease | undefined> {
  const { signal, res } = exchange
  const phasesBefore = slots.row(slot)?.phases
  try {
    if (onDemandModel !== undefined) await onDemand.ensure()
    const isWholeWait = waitMs === settings.loadWaitS * SECOND_MS
    const modelId = onDemandModel === undefined ? {} : { modelId: onDemandModel }
    const lease = await acquireArbitrated(slots, arbiter, slot, { signal, waitMs, isWholeWait, ...modelId })
    if (!signal.aborted) {
      const phases = slots.row(slot)?.phases ?? null
      // A load was completed while this request waited: the record is another one, even if it says the same.
      if (phases !== null && phases !== phasesBefore) res.setHeader('Server-Timing', serverTiming(phases))
      return lease
    }
    // It left at the very moment the lease came.
    lease.release()
  } catch (thrown) {
    if (signal.aborted) throw signal.reason
    if (!(thrown instanceof Hal0Error)) throw thrown
    // What goes with the on-demand slot comes back with it; the model that was asked for is still there.
    const isRemade = onDemandModel !== undefined && thrown.code === 'slot.not_found'
    const { error, status } = publicSlotError(isRemade ? remadeSoonError(slot) : thrown, slot)
    sendError(exchange, error, { status })
    return undefined
  }
  throw signal.reason
}
