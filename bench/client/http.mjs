// The bench's own HTTP client: one POST, and what became of it.
import { Agent, request } from 'node:http'

/** An answer that stands still for so long counts as an error, so that a run always ends. */
const SILENCE_LIMIT_MS = 30_000

export const agentFor = () => new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, noDelay: true })

/** Nanoseconds of CLOCK_MONOTONIC: the same clock in every process of this machine. */
export const nowNs = () => process.hrtime.bigint()

/** @param {bigint} fromNs @param {bigint} toNs */
export const msBetween = (fromNs, toNs) => Number(toNs - fromNs) / 1e6

/**
 * @param {{ origin: string, headers: Record<string, string>, body: string, agent: Agent }} of
 * @param {{ onResponse: (res: import('node:http').IncomingMessage) => void, onError: (why: string) => void }} to
 */
export function post({ origin, headers, body, agent }, to) {
  const length = String(Buffer.byteLength(body))
  const req = request(`${origin}/v1/chat/completions`, {
    method: 'POST',
    agent,
    headers: { ...headers, 'content-length': length },
  })
  req.setTimeout(SILENCE_LIMIT_MS, () => req.destroy(new Error(`no byte for ${SILENCE_LIMIT_MS} ms`)))
  req.on('response', to.onResponse)
  req.on('error', (error) => to.onError(error.message))
  req.end(body)
  return req
}
