// A request's body: read as fast as the knobs allow, then parsed as its route wants it.
import { readForm } from './form.mjs'
import { baseHeaders, JSON_TYPE, sendError, sendWhole } from './reply.mjs'
import { FORM_ROUTES } from './routes.mjs'

/** @typedef {import('./engine.mjs').Engine} Engine */
/** @typedef {import('node:http').IncomingMessage} Req */
/** @typedef {import('node:http').ServerResponse} Res */
/** @typedef {import('./state.mjs').Seen} Seen */

/** @param {Engine} engine @param {Req} req @param {Res} res @param {Seen} seen @param {import('./routes.mjs').PostRoute} route */
export function takeBody(engine, req, res, seen, route) {
  if (engine.knobs.early_answer !== 0) return answerEarly(engine, req, res, seen, engine.knobs.early_answer)
  /** @type {Buffer[]} */
  const parts = []
  if (engine.knobs.read_body_slowly !== 0) readSlowly(engine, req)
  req.on('data', (part) => parts.push(part))
  req.once('close', () => {
    if (!req.complete) engine.state.abort(seen)
  })
  req.on('error', () => {})
  req.once('end', () => {
    const body = parts.length === 1 ? parts[0] : Buffer.concat(parts)
    engine.state.tookBody(seen, body)
    let parsed
    try {
      parsed = FORM_ROUTES.has(seen.path) ? formOf(req, body) : JSON.parse(body.toString('utf8'))
    } catch (error) {
      seen.phase = 'done'
      seen.status = 400
      const message = `[json.exception.parse_error.101] parse error: ${error instanceof Error ? error.message : String(error)}`
      return sendError(res, 400, baseHeaders(req, engine.knobs), 'invalid_request_error', message)
    }
    void route(engine, req, res, seen, parsed)
  })
}

/** A form may carry knobs as JSON in its field `fake`. @param {Req} req @param {Buffer} body */
function formOf(req, body) {
  const form = readForm(req.headers['content-type'], body)
  if ('mistake' in form) throw new Error(form.mistake)
  return form.fields.fake === undefined ? form : { ...form, fake: JSON.parse(form.fields.fake) }
}

/**
 * The head alone decides the answer. A refusal closes the connection over the unread body, as servers do that refuse an upload;
 * anything else reads the body afterwards and keeps the connection.
 * @param {Engine} engine @param {Req} req @param {Res} res @param {Seen} seen @param {number} status
 */
function answerEarly(engine, req, res, seen, status) {
  seen.phase = 'done'
  seen.status = status
  req.on('error', () => {})
  const headers = baseHeaders(req, engine.knobs)
  if (status >= 400) return sendError(res, status, headers, 'invalid_request_error', 'planned early answer')
  req.resume()
  sendWhole(res, status, { ...headers, 'Content-Type': JSON_TYPE }, '{"early":true}', engine.knobs)
}

/** So many bytes a second; less than 0 = none, until the knob has another value. @param {Engine} engine @param {Req} req */
function readSlowly(engine, req) {
  if (engine.knobs.read_body_slowly < 0) {
    req.pause()
    const look = () => {
      if (engine.knobs.read_body_slowly < 0) engine.gates.add(look)
      else req.resume()
    }
    engine.gates.add(look)
    return
  }
  req.on('data', (/** @type {Buffer} */ part) => {
    const rate = engine.knobs.read_body_slowly
    if (rate <= 0) return
    req.pause()
    setTimeout(() => req.resume(), (part.length * 1000) / rate)
  })
}
