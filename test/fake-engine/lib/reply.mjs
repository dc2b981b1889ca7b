// How an answer leaves: headers as llama-server sends them, and the ways in which an answer can be framed or broken.
import { STATUS_CODES } from 'node:http'

/** @typedef {import('node:http').ServerResponse} Res */

export const JSON_TYPE = 'application/json; charset=utf-8'

/**
 * @param {import('node:http').IncomingMessage} req
 * @param {import('./knobs.mjs').Knobs} knobs
 * @returns {Record<string, string>}
 */
export function baseHeaders(req, knobs) {
  /** @type {Record<string, string>} */
  const headers = { Server: 'llama.cpp' }
  if (knobs.cors !== false) {
    headers['Access-Control-Allow-Origin'] = knobs.cors === 'echo' ? (req.headers.origin ?? '') : String(knobs.cors)
  }
  return knobs.extra_headers === null ? headers : Object.assign(headers, knobs.extra_headers)
}

/**
 * One complete body, framed as the knob `transfer` says.
 * @param {Res} res @param {number} status @param {Record<string, string>} headers @param {string | Buffer} body
 * @param {import('./knobs.mjs').Knobs} knobs
 */
export function sendWhole(res, status, headers, body, knobs) {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const socket = res.socket
  if (knobs.transfer === 'length') {
    headers['Content-Length'] = String(bytes.length)
    if (knobs.close_after_answer) res.once('finish', () => socket?.end())
    res.writeHead(status, headers)
    res.end(bytes)
    return
  }
  if (knobs.transfer === 'chunked') {
    res.writeHead(status, headers)
    const half = Math.ceil(bytes.length / 2)
    res.write(bytes.subarray(0, half))
    res.end(bytes.subarray(half))
    return
  }
  if (knobs.transfer === 'close') {
    writeRaw(res, status, { ...headers, Connection: 'close' }, bytes)
    socket?.end()
    return
  }
  // short: promises more bytes than it sends, then closes.
  writeRaw(res, status, { ...headers, 'Content-Length': String(bytes.length + 10) }, bytes)
  socket?.end()
}

/** Past node's own framing. @param {Res} res @param {number} status @param {Record<string, string>} headers @param {Buffer | string} body */
export function writeRaw(res, status, headers, body) {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  res.socket?.write(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}\r\n${lines.join('')}\r\n`)
  res.socket?.write(body)
}

/** Errors in llama-server's shape; it closes the connection after one. */
/** @param {Res} res @param {number} status @param {Record<string, string>} headers @param {string} type @param {string} message @param {Record<string, unknown>} [more] */
export function sendError(res, status, headers, type, message, more = {}) {
  const body = Buffer.from(JSON.stringify({ error: { code: status, message, type, ...more } }))
  res.writeHead(status, {
    ...headers,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(body.length),
    Connection: 'close',
  })
  res.end(body)
}

/**
 * Answers that no engine should give. Returns false when the knob is off.
 * @param {Res} res @param {Record<string, string>} headers @param {import('./knobs.mjs').Knobs} knobs
 */
export function sendGarbage(res, headers, knobs) {
  switch (knobs.garbage) {
    case 'html':
      sendWhole(res, 200, { ...headers, 'Content-Type': 'text/html' }, '<html><body>It works!</body></html>', knobs)
      return true
    case 'truncated_json':
      sendWhole(res, 200, { ...headers, 'Content-Type': 'application/json' }, '{"choices":[{"index":0,"mess', knobs)
      return true
    case 'empty':
      sendWhole(res, 200, { ...headers, 'Content-Type': 'application/json' }, '', knobs)
      return true
    case 'not_http':
      res.socket?.end('SSH-2.0-Fake_1.0\r\n')
      return true
    default:
      return false
  }
}
