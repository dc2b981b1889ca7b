// What the engine has seen: counters, aborts, the last requests. Tests read it at GET /fake/state.
import { createHash } from 'node:crypto'

const KEPT_REQUESTS = 64
const KEPT_ABORTS = 256
/** Larger bodies are hashed on arrival and dropped; smaller ones are hashed only when somebody asks. */
const LAZY_HASH_BYTES = 16_384

/** @typedef {'body' | 'queued' | 'before_first_byte' | 'mid_stream' | 'done' | 'aborted'} Phase */

/**
 * @typedef {object} Seen One request as the engine saw it.
 * @property {number} n
 * @property {string} method
 * @property {string} url
 * @property {string[]} rawHeaders
 * @property {number} connection
 * @property {bigint} atNs
 * @property {Phase} phase
 * @property {number} tokens
 * @property {number} status
 * @property {Buffer | undefined} body
 * @property {string | undefined} sha256
 * @property {number} bodyBytes
 * @property {string} path
 * @property {boolean} isSanity the known question of the gate: in no other counter and in no list
 */

/** @param {Buffer} bytes */
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex')

export class EngineState {
  counters = {
    connections: 0,
    connections_open: 0,
    bad_requests: 0,
    unauthorized: 0,
    requests: 0,
    sanity_requests: 0,
    inference: 0,
    answered: 0,
    prompt_tokens: 0,
    tokens: 0,
    active: 0,
    waiting: 0,
    max_active: 0,
    sigterms: 0,
    aborts: 0,
    aborts_body: 0,
    aborts_queued: 0,
    aborts_before_first_byte: 0,
    aborts_mid_stream: 0,
  }
  #seen = 0
  /** @type {Record<string, number>} */
  byPath = {}
  /** @type {{ n: number, phase: string, at_ns: string, tokens: number }[]} */
  abortLog = []
  /** @type {Seen[]} */
  ring = []
  /** @type {Set<() => void>} */
  waiters = new Set()
  /** Open connections. @type {Set<import('node:net').Socket>} */
  #sockets = new Set()
  /** Of connections that are closed, less what was counted before the last reset. */
  #closed = { read: 0, written: 0 }

  /** @param {keyof EngineState['counters']} name @param {number} [by] */
  add(name, by = 1) {
    this.counters[name] += by
    if (this.waiters.size > 0) this.changed()
  }

  /** Costs nothing on the way of a request: the socket counts, and is asked when somebody looks. @param {import('node:net').Socket} socket */
  watchBytes(socket) {
    this.#sockets.add(socket)
    socket.once('close', () => {
      if (!this.#sockets.delete(socket)) return
      this.#closed.read += socket.bytesRead
      this.#closed.written += socket.bytesWritten
    })
  }

  /** A connection on which somebody looks inside counts no bytes. @param {import('node:net').Socket} socket */
  leaveOutBytes(socket) {
    this.#sockets.delete(socket)
  }

  /** What came in and what the kernel has taken, in bytes. */
  bytes() {
    const sum = { ...this.#closed }
    for (const socket of this.#sockets) {
      sum.read += socket.bytesRead
      sum.written += socket.bytesWritten - socket.writableLength
    }
    return sum
  }

  changed() {
    for (const check of this.waiters) check()
  }

  /**
   * @param {import('node:http').IncomingMessage} req
   * @param {string} path
   * @returns {Seen}
   */
  see(req, path) {
    this.byPath[path] = (this.byPath[path] ?? 0) + 1
    /** @type {Seen} */
    const seen = {
      n: ++this.#seen,
      method: req.method ?? '',
      url: req.url ?? '',
      rawHeaders: req.rawHeaders,
      connection: /** @type {any} */ (req.socket).fakeId ?? 0,
      atNs: process.hrtime.bigint(),
      phase: 'body',
      tokens: 0,
      status: 0,
      body: undefined,
      sha256: undefined,
      bodyBytes: 0,
      path,
      isSanity: false,
    }
    this.ring.push(seen)
    if (this.ring.length > KEPT_REQUESTS) this.ring.shift()
    this.add('requests')
    return seen
  }

  /** @param {Seen} seen @param {Buffer} body */
  tookBody(seen, body) {
    seen.bodyBytes = body.length
    if (body.length > LAZY_HASH_BYTES) seen.sha256 = sha256(body)
    else seen.body = body
  }

  /** It turned out to be the question of the sanity gate: tests count what clients asked. @param {Seen} seen */
  leaveOut(seen) {
    seen.isSanity = true
    this.byPath[seen.path] -= 1
    if (this.byPath[seen.path] === 0) delete this.byPath[seen.path]
    this.ring = this.ring.filter((each) => each !== seen)
    this.counters.requests -= 1
    this.add('sanity_requests')
  }

  /** The client went away before the answer was complete. @param {Seen} seen */
  abort(seen) {
    if (seen.isSanity) return void (seen.phase = 'aborted')
    const phase = /** @type {'body' | 'queued' | 'before_first_byte' | 'mid_stream'} */ (seen.phase)
    const at_ns = process.hrtime.bigint().toString()
    this.abortLog.push({ n: seen.n, phase, at_ns, tokens: seen.tokens })
    if (this.abortLog.length > KEPT_ABORTS) this.abortLog.shift()
    seen.phase = 'aborted'
    this.counters[`aborts_${phase}`] += 1
    this.add('aborts')
  }

  reset() {
    for (const name of /** @type {(keyof EngineState['counters'])[]} */ (Object.keys(this.counters))) {
      if (!['active', 'waiting', 'connections_open'].includes(name)) this.counters[name] = 0
    }
    this.#seen = 0
    this.byPath = {}
    this.abortLog = []
    this.ring = []
    const { read, written } = this.bytes()
    this.#closed.read -= read
    this.#closed.written -= written
  }

  view() {
    const { read, written } = this.bytes()
    return {
      bytes_read: read,
      bytes_written: written,
      counters: this.counters,
      by_path: this.byPath,
      abort_log: this.abortLog,
      requests: this.ring.map(viewOf),
      last_request:
        this.ring
          .filter((r) => r.method === 'POST')
          .map(viewOf)
          .at(-1) ?? null,
    }
  }
}

/** @param {Seen} seen */
export function viewOf(seen) {
  if (seen.sha256 === undefined && seen.body !== undefined) seen.sha256 = sha256(seen.body)
  /** @type {Record<string, string>} */
  const headers = {}
  for (let i = 0; i < seen.rawHeaders.length; i += 2) {
    const name = seen.rawHeaders[i].toLowerCase()
    const value = seen.rawHeaders[i + 1]
    headers[name] = name in headers ? `${headers[name]}, ${value}` : value
  }
  return {
    n: seen.n,
    method: seen.method,
    url: seen.url,
    headers,
    body_sha256: seen.sha256 ?? null,
    body_bytes: seen.bodyBytes,
    connection: seen.connection,
    at_ns: seen.atNs.toString(),
    phase: seen.phase,
    tokens: seen.tokens,
    status: seen.status,
  }
}
