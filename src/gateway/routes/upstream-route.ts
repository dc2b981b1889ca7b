import { Hal0Error } from '../../kernel/errors.ts'
import { noSlotError } from '../../slots/slot-failures.ts'
import type { EngineBody } from '../body/engine-body.ts'
import { liveBodyOf } from '../body/live-body.ts'
import type { Exchange } from '../exchange.ts'
import { enterLane } from '../lane-entry.ts'
import { relay } from '../relay.ts'
import { findByAlias, findByName, type RouteCandidate } from '../rules/find-slot.ts'
import { engineRequestHeaders } from '../rules/headers.ts'
import type { RouteMatch } from '../rules/match-route.ts'
import { rankOf } from '../rules/rank-slots.ts'
import { readUpstream, type UpstreamAsk, wantsWebSocket } from '../rules/read-upstream.ts'
import { type SendLeased, sendToSlotAndWait } from '../send-to-slot.ts'
import { type InferenceDeps, waitOf } from './inference-route.ts'

type UpstreamMatch = Extract<RouteMatch, { kind: 'upstream' }>

/** A load that is under way may be over by then. */
const LOOK_AGAIN_S = 2
/** So many times a look is begun that the engine did not read. */
const MAX_LOOKS = 3

/**
 * `/upstream/<slot>/…`: any method and path of the slot's engine, byte for byte both ways; its errors too. It loads a cold slot, waits and
 * counts as use like any request; a look at the engine (`readUpstream`) does none of it. Rejects with the Hal0Error for the client, or with
 * CLIENT_GONE. Errors: `slot.not_found`, `slot.not_ready`, `slot.loading`, `dispatch.route_unsupported`. Source: SPEC 11.
 */
export async function serveUpstream(exchange: Exchange, match: UpstreamMatch, deps: InferenceDeps): Promise<void> {
  const { req, facts } = exchange
  const rows = deps.slots.views()
  const byName = findByName(match.slot, rows)
  const row = byName ?? findByAlias(match.slot, rows)
  if (row === undefined) {
    throw noSlotError(
      match.slot,
      rows.map(({ name }) => name),
    )
  }
  const { name: slot } = row
  facts.slot = slot
  facts.reason = byName === undefined ? `1 alias of ${slot}` : '1 slot name'
  if (wantsWebSocket(req.headers.upgrade)) throw webSocketError(slot)
  const method = req.method ?? 'GET'
  const ask = { method, ...readUpstream(method, match.rest) }
  const waitMs = waitOf(exchange, deps.settings.loadWaitS)
  if (ask.isLook) await sendAsLook(exchange, row, ask, deps)
  else
    await sendToSlotAndWait(exchange, { slot, onDemandModel: undefined, waitMs }, deps, senderOf(exchange, ask, deps))
}

type Ask = UpstreamAsk & { readonly method: string }

/** From here on the body is under way. */
function senderOf(exchange: Exchange, { method, path }: Ask, deps: InferenceDeps): SendLeased {
  const body = bodyOf(exchange, deps)
  return (lease, mayComeAgain, sent) => {
    const { engineKey } = lease.endpoint
    const headers = engineRequestHeaders(exchange.req.rawHeaders, {
      ...{ engineKey, requestId: exchange.id },
      ...{ contentType: 'as_sent', isRaw: true },
    })
    relay(
      exchange,
      lease,
      {
        ...{ method, path, headers, body, stream: false },
        answer: { kind: 'raw' },
        mayComeAgain: mayComeAgain && body.kind !== 'live',
      },
      deps,
      sent,
    )
  }
}

/** Those that a lane is closed to do not see it either. A look is no use of a booking, so it never says that it is served. */
async function sendAsLook(exchange: Exchange, row: RouteCandidate, ask: Ask, deps: InferenceDeps): Promise<void> {
  const stay = enterLane(exchange, deps.lanes, row.name)
  if (stay instanceof Hal0Error) throw stay
  try {
    // Said before anything of its body is touched.
    if (rankOf(row) !== 0) throw notUpError(row, stay !== undefined)
    await look(row, stay !== undefined, deps, senderOf(exchange, ask, deps))
  } finally {
    stay?.leave()
  }
}

/** Beside the requests that have the engine's places, and those that wait for one. */
function look(row: RouteCandidate, isLane: boolean, { slots }: InferenceDeps, send: SendLeased): Promise<void> {
  return new Promise((resolve, reject) => {
    let nth = 0
    const next = (): void => {
      const lease = rankOf(row) === 0 ? slots.lookNow(row.name) : undefined
      if (lease === undefined) reject(notUpError(row, isLane))
      else
        send(lease, ++nth < MAX_LOOKS, (outcome, failure) => {
          if (outcome === 'unread') next()
          else if (failure === undefined) resolve()
          else reject(failure)
        })
    }
    next()
  })
}

function bodyOf({ req }: Exchange, { bodies }: InferenceDeps): EngineBody {
  const { 'content-length': sizeBytes, 'transfer-encoding': coding } = req.headers
  if (coding === undefined && sizeBytes === undefined) return { kind: 'none' }
  // There are servers that want a length of every POST.
  if (coding === undefined && sizeBytes === '0') return { kind: 'whole', pieces: [], sizeBytes: 0 }
  return { kind: 'live', body: liveBodyOf(req, bodies.silence) }
}

function notUpError(row: RouteCandidate, isLane: boolean): Hal0Error {
  const { name: slot, state } = row
  const why = 'a look at its engine does not load it'
  if (rankOf(row) === 1) {
    return Hal0Error.of('slot.loading', `Slot "${slot}" is ${state}; ${why}`, {
      retryAfterS: LOOK_AGAIN_S,
      details: { slot, state },
    })
  }
  const remedy = isLane
    ? `\`hal0 lane explain ${slot}\` says what the lane will run, and when.`
    : `Load it: \`hal0 slot load ${slot}\`. Any other request to it does so too.`
  return Hal0Error.of('slot.not_ready', `Slot "${slot}" is not loaded (${state}); ${why}`, {
    details: { slot, state, remedy },
  })
}

function webSocketError(slot: string): Hal0Error {
  return Hal0Error.of('dispatch.route_unsupported', 'WebSockets are not passed through; plain HTTP is', {
    details: { slot, remedy: `Ask the engine of slot "${slot}" by plain HTTP below /upstream/${slot}/.` },
  })
}
