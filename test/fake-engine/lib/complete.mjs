// One answer from the request to the last byte, whatever the route: the place in the queue, planned errors, the stream or the whole.
import { planAnswer } from './answers.mjs'
import { Generation } from './generation.mjs'
import { knobMistake } from './knobs.mjs'
import { baseHeaders, JSON_TYPE, sendError, sendGarbage, sendWhole } from './reply.mjs'

/** @typedef {import('./engine.mjs').Engine} Engine */
/** @typedef {import('node:http').IncomingMessage} Req */
/** @typedef {import('node:http').ServerResponse} Res */
/** @typedef {import('./state.mjs').Seen} Seen */
/** @typedef {import('./knobs.mjs').Knobs} Knobs */
/** @typedef {import('./dialect.mjs').Totals} Totals */

/**
 * @typedef {object} Asked
 * @property {string} prompt
 * @property {string} last what the user said last
 * @property {string} [says] the answer's text, when the route decides it
 */

/** @typedef {{ mistake: string, status?: number, type?: string }} Mistake */

/**
 * @typedef {object} Writer The bytes of one answer.
 * @property {(promptTokens: number) => string | Buffer} open what stands before the first token of a stream
 * @property {(text: string, made: number, promptTokens: number) => string | Buffer} chunk
 * @property {(t: Totals) => string | Buffer} close
 * @property {(text: string, t: Totals) => string | Buffer} whole
 * @property {string} [wholeType] content type of a whole answer; JSON if absent
 * @property {string} [streamType] content type of a stream; text/event-stream if absent
 */

/**
 * @typedef {object} Kind What one route asks and how it answers.
 * @property {(body: any, engine: Engine) => Asked | Mistake} ask
 * @property {(facts: { n: number, created: number, model: string, knobs: Knobs, body: any }) => Writer} writer
 * @property {(body: any) => boolean} streams
 */

/** @param {Engine} engine @param {Req} req @param {Res} res @param {Seen} seen @param {any} body @param {Kind} kind */
export async function complete(engine, req, res, seen, body, kind) {
  const state = engine.state
  state.add('inference')
  engine.tookRequest()
  const own = body.fake
  const ownMistake = own === undefined ? undefined : knobMistake(own)
  if (ownMistake !== undefined) return refuse(engine, req, res, seen, { mistake: ownMistake })
  // A request may carry knobs of its own; read afresh each time, since the engine's may change under way.
  const knobs = own === undefined ? () => engine.knobs : () => ({ ...engine.knobs, ...own })
  const asked = kind.ask(body, engine)
  if ('mistake' in asked) return refuse(engine, req, res, seen, asked)

  const k = knobs()
  const plan = planAnswer(body, asked, k, engine.ctxTokens, k.echo ? engine.echoOf(seen) : asked.says)
  if (plan.promptTokens >= engine.ctxTokens) {
    seen.phase = 'done'
    seen.status = 400
    const message = `request (${plan.promptTokens} tokens) exceeds the available context size (${engine.ctxTokens} tokens), try increasing it`
    const more = { n_prompt_tokens: plan.promptTokens, n_ctx: engine.ctxTokens }
    return sendError(res, 400, baseHeaders(req, k), 'exceed_context_size_error', message, more)
  }
  const gen = new Generation({
    res,
    seen,
    state,
    sequences: engine.sequences,
    gates: engine.gates,
    knobs,
    die: (why) => engine.die(why),
  })
  res.once('close', () => {
    if (seen.phase !== 'done') {
      gen.abort()
      state.abort(seen)
    }
    gen.leave()
  })
  if (!(await gen.begin())) return
  state.add('prompt_tokens', plan.promptTokens)
  if (fail(engine, req, res, seen, knobs())) return

  const writer = kind.writer({ n: seen.n, created: engine.startedS, model: engine.answerModel(), knobs: k, body })
  const headers = baseHeaders(req, k)
  if (kind.streams(body)) {
    if (writer.streamType === undefined) headers['X-Accel-Buffering'] = 'no'
    headers['Content-Type'] = writer.streamType ?? 'text/event-stream'
    const socket = res.socket
    // Promised keep-alive, but closed: what a real llama-server was seen to do after a stream.
    if (k.close_after_sse) res.once('finish', () => socket?.end())
    if (k.die_after_tokens === 0 && !k.headers_early) {
      await gen.before(0, 0)
      return
    }
    seen.status = 200
    res.writeHead(200, headers)
    if (k.headers_early) {
      res.flushHeaders()
      seen.phase = 'mid_stream'
    }
    await gen.answerStream(plan, writer)
  } else {
    await gen.answerWhole(plan, writer, headers)
  }
  if (seen.phase === 'done') {
    gen.leave()
    // One that broke off by plan is done, but was never complete.
    if (!gen.aborted) engine.answered(res)
  }
}

/** @param {Engine} engine @param {Req} req @param {Res} res @param {Seen} seen @param {Mistake} mistake */
function refuse(engine, req, res, seen, { mistake, status = 400, type = 'invalid_request_error' }) {
  seen.phase = 'done'
  seen.status = status
  sendError(res, status, baseHeaders(req, engine.knobs), type, mistake)
}

/** Planned errors and garbage. @param {Engine} engine @param {Req} req @param {Res} res @param {Seen} seen @param {Knobs} k */
function fail(engine, req, res, seen, k) {
  if (k.error_status !== 0 && engine.takeError()) {
    seen.phase = 'done'
    seen.status = k.error_status
    const headers = { ...baseHeaders(req, k), ...k.error_headers }
    if (k.error_body === null)
      sendError(res, k.error_status, headers, 'server_error', 'planned error of the fake engine')
    else {
      const body = typeof k.error_body === 'string' ? k.error_body : JSON.stringify(k.error_body)
      sendWhole(res, k.error_status, { 'Content-Type': JSON_TYPE, ...headers }, body, k)
    }
    return true
  }
  if (k.garbage === null) return false
  seen.phase = 'done'
  return sendGarbage(res, baseHeaders(req, k), k)
}
