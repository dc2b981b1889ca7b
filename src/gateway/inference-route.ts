import { Hal0Error } from '../kernel/errors.ts'
import type { Lease, Slots } from '../slots/slots.ts'
import { sendError } from './answer.ts'
import type { Exchange } from './exchange.ts'
import { readBody } from './read-body.ts'
import { type RelayDeps, relay } from './relay.ts'
import { engineRequestHeaders } from './rules/headers.ts'
import { type InferencePath, queryWithoutKey, waitLimitMs } from './rules/match-route.ts'
import { resolveRoute } from './rules/resolve-route.ts'
import { type BodyFacts, bomLength, scanBody } from './rules/scan-body.ts'
import { nameForEngine } from './rules/splice-model.ts'

export interface InferenceDeps extends RelayDeps {
  readonly slots: Slots
}

/**
 * A request that an engine answers: read it, find the slot, wait for it, hand it over. Nothing is committed to the client before
 * the engine answers. Rejects with the Hal0Error for the client, or with CLIENT_GONE. Source: SPEC 11.
 */
export async function serveInference(exchange: Exchange, path: InferencePath, deps: InferenceDeps): Promise<void> {
  const { req, res, signal, facts } = exchange
  const { settings, slots } = deps
  const waitMs = waitOf(exchange, settings.loadWaitS)
  const received = await readBody(req, settings.jsonLimitBytes, signal)
  const body = received.subarray(bomLength(received))
  const asked = understand(body)
  const model = asked.model.kind === 'string' && asked.model.value !== '' ? asked.model.value : undefined

  const rows = slots.rows()
  const decision = resolveRoute({ model, rows, unknownModel: settings.unknownModel })
  facts.reason = decision.reason
  if (decision.kind === 'error') throw Hal0Error.of(decision.code, decision.message, { param: 'model' })
  facts.slot = decision.slot
  if (decision.fallback) res.setHeader('X-Hal0-Route', 'fallback')
  const type = rows.find((row) => row.name === decision.slot)?.type
  if (type !== undefined && type !== 'llm') {
    throw Hal0Error.of(
      'dispatch.route_unsupported',
      `Slot "${decision.slot}" is of type ${type}, which does not have ${path}`,
    )
  }

  const lease = await acquire(exchange, decision.slot, waitMs, slots)
  if (lease === undefined) return
  const { alias, engineKey } = lease.endpoint
  const named = nameForEngine(body, asked, alias)
  await relay(
    exchange,
    lease,
    {
      path: path + queryWithoutKey(req.url ?? ''),
      headers: engineRequestHeaders(req.headers, { engineKey, requestId: exchange.id }),
      body: named === body ? body : Buffer.from(named.buffer, named.byteOffset, named.byteLength),
      stream: asked.stream,
      askedName: model ?? alias,
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

function understand(body: Buffer): BodyFacts {
  const scanned = scanBody(body)
  if (!scanned.ok) {
    const { line, column, offset, expected } = scanned.error
    throw Hal0Error.of(
      'request.invalid',
      `The request body is not the JSON object it should be: line ${line}, column ${column}: expected ${expected}`,
      { details: { line, column, byte_offset: offset, expected } },
    )
  }
  if (scanned.value.model.kind === 'other') {
    throw Hal0Error.of('request.invalid', 'The field "model" is not a string', { param: 'model' })
  }
  return scanned.value
}

/** Undefined = the answer has been given here. */
async function acquire(exchange: Exchange, slot: string, waitMs: number, slots: Slots): Promise<Lease | undefined> {
  const { signal } = exchange
  try {
    const lease = await slots.acquire(slot, { signal, waitMs })
    if (!signal.aborted) return lease
    // It left at the very moment the lease came.
    lease.release()
  } catch (thrown) {
    if (signal.aborted) throw signal.reason
    // A bad file is the operator's mistake, not that of whoever asks. Source: SPEC 2.
    if (!(thrown instanceof Hal0Error) || thrown.code !== 'config.invalid') throw thrown
    sendError(exchange, thrown, 503)
    return undefined
  }
  throw signal.reason
}
