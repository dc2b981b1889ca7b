import { Agent, type Dispatcher, EnvHttpProxyAgent, request } from 'undici'
import type { Clock } from '../../kernel/clock.ts'
import { messageOf } from '../../kernel/errors.ts'
import { SECOND_MS } from '../../kernel/units.ts'
import { type AnswerHead, parseTag, wholeNumber } from './rules/judge-answer.ts'
import { STALL_MS, type StallWatch, watchStall } from './stall-watch.ts'

const MAX_REDIRECTS = 5
const LOOPBACK = /^https?:\/\/(?:localhost|127\.[\d.]+|\[::1\])(?:[:/]|$)/i

/** Who is asked, and how. */
export interface HubHttpDeps {
  readonly endpoint: string
  readonly token: () => Promise<string | undefined>
  readonly clock: Clock
  readonly dispatcher: Dispatcher
}

export interface HubAsk {
  readonly url: string
  readonly method: 'GET' | 'HEAD'
  readonly headers?: Readonly<Record<string, string>>
}

export interface HubAnswer {
  readonly head: AnswerHead
  /** Was a token sent to the hub? */
  readonly hasToken: boolean
  /** Rejects when the connection is lost or brings nothing for `STALL_MS`; once only. */
  readonly chunks: AsyncIterable<Buffer>
  /** Ends it, read or not; must be called. */
  close(): void
}

/** Connections to hubs: patient ones, as a slow link is no error. A proxy of the environment is used, but not for this machine. */
export function createHubDispatcher(endpoint: string): Dispatcher {
  // 0 = none: `watchStall` decides, on our clock.
  const options = { headersTimeout: 0, bodyTimeout: 0 }
  return LOOPBACK.test(endpoint) ? new Agent(options) : new EnvHttpProxyAgent(options)
}

/**
 * Asks, and follows where the hub points to. The token goes to the hub's own origin only. Rejects with the system's errors
 * when there is no answer, with `signal.reason` after an abort.
 */
export async function askHub(deps: HubHttpDeps, ask: HubAsk, signal: AbortSignal): Promise<HubAnswer> {
  const both = new AbortController()
  const forward = (): void => both.abort(signal.reason)
  signal.addEventListener('abort', forward, { once: true })
  if (signal.aborted) forward()
  const stall = watchStall(deps.clock, () => both.abort(new Error(`no byte came for ${STALL_MS / SECOND_MS} s`)))
  const watch: StallWatch = {
    touch: () => stall.touch(),
    stop: () => {
      stall.stop()
      signal.removeEventListener('abort', forward)
    },
  }
  try {
    return await follow(deps, ask, both.signal, watch)
  } catch (cause) {
    watch.stop()
    throw both.signal.aborted ? both.signal.reason : cause
  }
}

async function follow(deps: HubHttpDeps, ask: HubAsk, signal: AbortSignal, watch: StallWatch): Promise<HubAnswer> {
  const token = await deps.token()
  const home = new URL(deps.endpoint)
  let url = new URL(ask.url)
  let linkedTag = parseTag(undefined, true)
  let linkedSizeBytes: number | null = null
  for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
    const fromHub = url.origin === home.origin
    const { statusCode, headers, body } = await request(url, {
      method: ask.method,
      dispatcher: deps.dispatcher,
      signal,
      headersTimeout: 0,
      bodyTimeout: 0,
      headers: {
        'user-agent': 'hal0',
        // A compressed body has no bytes that a range could count.
        'accept-encoding': 'identity',
        ...ask.headers,
        ...(fromHub && token !== undefined ? { authorization: `Bearer ${token}` } : {}),
      },
    })
    watch.touch()
    // It may fail after nobody reads it any more.
    body.on('error', () => {})
    const flat = flatten(headers)
    if (fromHub) {
      linkedTag = parseTag(flat['x-linked-etag'], true) ?? linkedTag
      linkedSizeBytes = wholeNumber(flat['x-linked-size']) ?? linkedSizeBytes
    }
    const location = flat['location']
    if (statusCode >= 300 && statusCode < 400 && location !== undefined) {
      body.destroy()
      url = redirectTarget(location, url)
      continue
    }
    const tag = linkedTag ?? parseTag(flat['etag'], false)
    return {
      head: { status: statusCode, headers: flat, tag, linkedSizeBytes, fromHub },
      hasToken: token !== undefined,
      chunks: readBody(body, signal, watch),
      close: () => {
        watch.stop()
        body.destroy()
      },
    }
  }
  throw new Error(`more than ${MAX_REDIRECTS} redirects`)
}

async function* readBody(
  body: AsyncIterable<Buffer>,
  signal: AbortSignal,
  watch: StallWatch,
): AsyncGenerator<Buffer, void, void> {
  try {
    for await (const chunk of body) {
      watch.touch()
      yield chunk
    }
  } catch (cause) {
    throw signal.aborted ? signal.reason : cause
  }
}

function redirectTarget(location: string, from: URL): URL {
  if (!URL.canParse(location, from.href)) throw new Error(`a redirect to "${location}"`)
  const target = new URL(location, from)
  const isSafe = target.protocol === 'https:' || (target.protocol === 'http:' && from.protocol === 'http:')
  if (!isSafe) throw new Error(`a redirect from ${from.origin} to ${target.protocol}//${target.host}`)
  return target
}

function flatten(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  )
}

/** Why a connection failed, in words: a name that is tried at several addresses fails with an error without text. */
export function describeLoss(cause: unknown): string {
  if (cause instanceof AggregateError && cause.message === '') return cause.errors.map(messageOf).join('; ')
  const text = messageOf(cause)
  return text === '' ? 'the connection was lost' : text
}
