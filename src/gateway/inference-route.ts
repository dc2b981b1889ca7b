import { Hal0Error } from '../kernel/errors.ts'
import type { Lease, Slots } from '../slots/slots.ts'
import { sendError } from './answer.ts'
import type { Exchange } from './exchange.ts'
import type { ScanFault } from './json/json-scanner.ts'
import { type BodyFacts, BodyScan, placeOf } from './json/scan-body.ts'
import { nameForEngine } from './json/splice-model.ts'
import { readBody } from './read-body.ts'
import { type RelayDeps, relay } from './relay.ts'
import { engineRequestHeaders } from './rules/headers.ts'
import { type InferencePath, queryWithoutKey, waitLimitMs } from './rules/match-route.ts'
import { publicSlotError } from './rules/public-error.ts'
import { resolveRoute } from './rules/resolve-route.ts'
import { serverTiming } from './rules/server-timing.ts'

export interface InferenceDeps extends RelayDeps {
  readonly slots: Slots
}

/** A request that is ready for any engine of its slot. */
interface Ready {
  readonly path: InferencePath
  readonly slot: string
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

  const decision = resolveRoute({ model, rows: slots.rows(), unknownModel: settings.unknownModel })
  facts.reason = decision.reason
  if (decision.kind === 'error') throw Hal0Error.of(decision.code, decision.message, { param: 'model' })
  facts.slot = decision.slot
  if (decision.fallback) res.setHeader('X-Hal0-Route', 'fallback')
  await sendToSlot(exchange, { path, slot: decision.slot, body, asked, model, waitMs }, deps)
}

/** An engine may be gone whenever a request comes to it; one that keeps dying is given up after so many. */
const MAX_LEASES = 5

/** An engine that is gone before it has read its request costs another lease, within the same wait. */
async function sendToSlot(exchange: Exchange, ready: Ready, deps: InferenceDeps): Promise<void> {
  const begunMs = deps.clock.monotonicMs()
  let { waitMs } = ready
  for (let nth = 1; nth <= MAX_LEASES; nth++) {
    const lease = await acquire(exchange, ready.slot, waitMs, deps.slots)
    if (lease === undefined) return
    if ((await sendToEngine(exchange, lease, ready, nth < MAX_LEASES, deps)) === 'over') return
    if (exchange.signal.aborted) throw exchange.signal.reason
    waitMs = Math.max(0, ready.waitMs - (deps.clock.monotonicMs() - begunMs))
  }
}

async function sendToEngine(
  exchange: Exchange,
  lease: Lease,
  { path, body, asked, model }: Ready,
  mayComeAgain: boolean,
  deps: RelayDeps,
) {
  const { alias, engineKey, routes } = lease.endpoint
  if (!routes.includes(path)) {
    lease.release()
    throw Hal0Error.of(
      'dispatch.route_unsupported',
      `The engine of slot "${lease.slot}" does not have ${path}; it has ${routes.join(', ')}`,
      { details: { slot: lease.slot, routes } },
    )
  }
  const { req } = exchange
  return await relay(
    exchange,
    lease,
    {
      path: path + queryWithoutKey(req.url ?? ''),
      headers: engineRequestHeaders(req.headers, { engineKey, requestId: exchange.id }),
      body: nameForEngine(body, asked, alias),
      stream: asked.stream,
      askedName: model ?? alias,
      mayComeAgain,
    },
    deps,
  )
}

function waitOf({ req }: Exchange, loadWaitS: number): number {
  const header = req.headers['x-hal0-wait']
  const waitMs = Array.isArray(header) ? undefined : waitLimitMs(header, loadWaitS)
  if (waitMs !== undefined) return waitMs
  throw Hal0Error.of('request.invalid', 'The header X-Hal0-Wait is not a number of seconds, for example 30', {
    param: 'X-Hal0-Wait',
  })
}

/** The body, a byte order mark taken off, and what it asks for; looked at while it comes, so that a mistake ends it early. */
async function readAsked(
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
async function acquire(exchange: Exchange, slot: string, waitMs: number, slots: Slots): Promise<Lease | undefined> {
  const { signal, res } = exchange
  const phasesBefore = slots.row(slot)?.phases
  try {
    const lease = await slots.acquire(slot, { signal, waitMs })
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
    const { error, status } = publicSlotError(thrown, slot)
    sendError(exchange, error, { status })
    return undefined
  }
  throw signal.reason
}
