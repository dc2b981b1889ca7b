// The bench's own client: one socket, one request at a time.
import { connect } from 'node:net'
import { AnswerReader } from './answer-reader.mjs'

/** An answer that stands still for so long counts as an error, so that a run always ends. */
const SILENCE_LIMIT_MS = 30_000

/** Nanoseconds of CLOCK_MONOTONIC: the same clock in every process of this machine. */
export const nowNs = () => process.hrtime.bigint()

/** @param {bigint} fromNs @param {bigint} toNs */
export const msBetween = (fromNs, toNs) => Number(toNs - fromNs) / 1e6

/** @typedef {{ origin: string, path?: string, headers: Record<string, string>, body: string }} Job */

/** The bytes of a request; `length` when the body is sent apart. @param {Job} job @param {number} [length] */
export function requestOf({ origin, path = '/v1/chat/completions', headers, body }, length = Buffer.byteLength(body)) {
  const lines = Object.entries({ host: new URL(origin).host, ...headers, 'content-length': String(length) })
  return `POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`
}

export class Wire {
  reads = 0
  #reader = new AnswerReader()
  /** @type {(why: string) => void} */
  #fail = () => {}

  /** @param {string} origin */
  constructor(origin) {
    const { hostname, port } = new URL(origin)
    this.socket = connect({ host: hostname, port: Number(port), noDelay: true })
    this.socket.setTimeout(SILENCE_LIMIT_MS, () => this.socket.destroy(new Error(`no byte for ${SILENCE_LIMIT_MS} ms`)))
    this.socket.on('data', (data) => {
      this.reads += 1
      this.#reader.push(data)
    })
    this.socket.on('error', (error) => this.#lost(error.message))
    this.socket.on('close', () => this.#lost('the connection was closed before the end of the answer'))
  }

  get isOpen() {
    return !this.socket.destroyed && this.socket.readable && this.socket.writable
  }

  /** @param {string} why */
  #lost(why) {
    if (this.#reader.close()) return
    const fail = this.#fail
    this.#fail = () => {}
    fail(why)
  }

  /** @param {string | Buffer} request @param {import('./answer-reader.mjs').To & { onError: (why: string) => void }} to */
  send(request, to) {
    this.#fail = to.onError
    this.#reader.expect(to)
    this.socket.write(request)
  }

  close() {
    this.#fail = () => {}
    this.socket.destroy()
  }
}

/** Counts what went wrong. */
export class Errors {
  /** @type {Record<string, number>} */
  counts = {}

  /** @param {string} why */
  add(why) {
    this.counts[why] = (this.counts[why] ?? 0) + 1
  }
}
