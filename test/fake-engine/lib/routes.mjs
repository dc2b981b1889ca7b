// The routes of llama-server.
import { embeddingOf, planAnswer, promptOf, textOfIds, tokenIds, tokensOf } from './answers.mjs'
import { dialectWriter } from './dialect.mjs'
import { Generation } from './generation.mjs'
import { knobMistake } from './knobs.mjs'
import { baseHeaders, sendError, sendGarbage, sendWhole } from './reply.mjs'
import { isSanityQuestion, sanityEngine } from './sanity.mjs'

/** @typedef {import('./engine.mjs').Engine} Engine */
/** @typedef {import('node:http').IncomingMessage} Req */
/** @typedef {import('node:http').ServerResponse} Res */

const JSON_TYPE = 'application/json; charset=utf-8'

/** @param {Engine} engine @param {Req} req @param {Res} res @param {number} status @param {unknown} value */
function json(engine, req, res, status, value) {
  const headers = { ...baseHeaders(req, engine.knobs), 'Content-Type': JSON_TYPE }
  sendWhole(res, status, headers, JSON.stringify(value), engine.knobs)
}

/** @type {Record<string, (engine: Engine, req: Req, res: Res) => void>} */
export const GET_ROUTES = {
  '/health': (engine, req, res) => {
    const k = engine.knobs
    const status = k.health_status ?? 200
    json(engine, req, res, status, k.health_body ?? { status: status === 200 ? 'ok' : 'error' })
  },
  '/v1/models': (engine, req, res) => {
    const meta = { n_ctx_train: engine.ctxTokens, n_vocab: 32_000, n_params: 1_000_000, size: 1_000_000 }
    const row = { id: engine.modelAlias(), object: 'model', created: engine.startedS, owned_by: 'llamacpp', meta }
    json(engine, req, res, 200, { object: 'list', data: engine.knobs.models_empty ? [] : [row] })
  },
  '/props': (engine, req, res) =>
    json(engine, req, res, 200, {
      default_generation_settings: { n_ctx: engine.ctxTokens, params: { temperature: 0.8 } },
      total_slots: engine.totalSlots(),
      model_alias: engine.modelAlias(),
      model_path: engine.modelPath,
      chat_template: '{{ messages }}',
      modalities: { vision: false, audio: false },
      build_info: 'fake-engine',
    }),
  '/slots': (engine, req, res) => {
    const { active } = engine.state.counters
    const rows = Array.from({ length: Math.min(64, engine.totalSlots()) }, (_, id) => ({
      id,
      n_ctx: engine.ctxTokens,
      speculative: false,
      is_processing: id < active,
    }))
    json(engine, req, res, 200, rows)
  },
  '/metrics': (engine, req, res) => {
    const c = engine.state.counters
    const lines = [
      ['prompt_tokens_total', 'counter', c.prompt_tokens],
      ['tokens_predicted_total', 'counter', c.tokens],
      ['requests_processing', 'gauge', c.active],
      ['requests_deferred', 'gauge', c.waiting],
    ].map(([name, type, value]) => `# TYPE llamacpp:${name} ${type}\nllamacpp:${name} ${value}\n`)
    const headers = { ...baseHeaders(req, engine.knobs), 'Content-Type': 'text/plain; version=0.0.4' }
    sendWhole(res, 200, headers, lines.join(''), engine.knobs)
  },
}
GET_ROUTES['/models'] = GET_ROUTES['/v1/models']
GET_ROUTES['/v1/health'] = GET_ROUTES['/health']

/** @param {'chat' | 'text' | 'native'} dialect @returns {PostRoute} */
const completion = (dialect) => (engine, req, res, seen, body) => {
  if (!isSanityQuestion(body)) return complete(engine, req, res, seen, body, dialect)
  engine.state.leaveOut(seen)
  return complete(sanityEngine(engine), req, res, seen, body, dialect)
}

/** @typedef {(engine: Engine, req: Req, res: Res, seen: import('./state.mjs').Seen, body: any) => void | Promise<void>} PostRoute */

/** @type {Record<string, PostRoute>} */
export const POST_ROUTES = {
  '/v1/chat/completions': completion('chat'),
  '/chat/completions': completion('chat'),
  '/v1/completions': completion('text'),
  '/completion': completion('native'),
  '/completions': completion('native'),
  '/tokenize': (engine, req, res, seen, body) => {
    seen.phase = 'done'
    json(engine, req, res, 200, { tokens: tokenIds(String(body.content ?? '')) })
  },
  '/detokenize': (engine, req, res, seen, body) => {
    seen.phase = 'done'
    json(engine, req, res, 200, { content: textOfIds(Array.isArray(body.tokens) ? body.tokens : []) })
  },
  '/v1/embeddings': (engine, req, res, seen, body) => {
    seen.phase = 'done'
    if (!engine.knobs.embeddings) {
      const message = 'This server does not support embeddings. Start it with `--embeddings`'
      sendError(res, 501, baseHeaders(req, engine.knobs), 'not_supported_error', message)
      return
    }
    const inputs = (Array.isArray(body.input) ? body.input : [body.input ?? '']).map(String)
    const tokens = inputs.reduce((/** @type {number} */ sum, /** @type {string} */ s) => sum + tokensOf(s).length, 0)
    json(engine, req, res, 200, {
      object: 'list',
      model: engine.answerModel(),
      data: inputs.map((/** @type {string} */ s, /** @type {number} */ index) => ({
        object: 'embedding',
        index,
        embedding: embeddingOf(s),
      })),
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    })
  },
}

/**
 * @param {Engine} engine @param {Req} req @param {Res} res @param {import('./state.mjs').Seen} seen @param {any} body
 * @param {'chat' | 'text' | 'native'} dialect
 */
async function complete(engine, req, res, seen, body, dialect) {
  const state = engine.state
  state.add('inference')
  engine.tookRequest()
  const own = body.fake
  const mistake = own === undefined ? undefined : knobMistake(own)
  if (mistake !== undefined) return refuse(engine, req, res, seen, mistake)
  // A request may carry knobs of its own; read afresh each time, since the engine's may change under way.
  const knobs = own === undefined ? () => engine.knobs : () => ({ ...engine.knobs, ...own })
  const asked = promptOf(body, dialect === 'chat')
  if ('mistake' in asked) return refuse(engine, req, res, seen, asked.mistake)

  const k = knobs()
  const plan = planAnswer(body, asked, k, engine.ctxTokens, k.echo ? engine.echoOf(seen) : undefined)
  if (plan.promptTokens >= engine.ctxTokens) {
    seen.phase = 'done'
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

  const writer = dialectWriter({
    dialect,
    id: `chatcmpl-fake-${seen.n}`,
    created: engine.startedS,
    model: engine.answerModel(),
    knobs: k,
    includeUsage: body.stream_options?.include_usage === true,
  })
  const headers = baseHeaders(req, k)
  if (body.stream === true) {
    headers['X-Accel-Buffering'] = 'no'
    headers['Content-Type'] = 'text/event-stream'
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
    engine.answered(res)
  }
}

/** @param {Engine} engine @param {Req} req @param {Res} res @param {import('./state.mjs').Seen} seen @param {string} message */
function refuse(engine, req, res, seen, message) {
  seen.phase = 'done'
  seen.status = 400
  sendError(res, 400, baseHeaders(req, engine.knobs), 'invalid_request_error', message)
}

/** Planned errors and garbage. @param {Engine} engine @param {Req} req @param {Res} res @param {import('./state.mjs').Seen} seen @param {import('./knobs.mjs').Knobs} k */
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
