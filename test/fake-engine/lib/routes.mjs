// The routes of llama-server, and those that other engines have.
import { textOfIds, tokenIds, tokensOf } from './answers.mjs'
import { complete } from './complete.mjs'
import { CHAT, NATIVE, TEXT } from './dialect.mjs'
import { askMessages, MESSAGES } from './dialect-messages.mjs'
import { RESPONSES } from './dialect-responses.mjs'
import { IMAGES, SPEECH, TRANSCRIPTIONS } from './media.mjs'
import { EMBEDDINGS, RERANK } from './pooled.mjs'
import { baseHeaders, JSON_TYPE, sendError, sendWhole } from './reply.mjs'
import { isSanityQuestion, sanityEngine } from './sanity.mjs'

/** @typedef {import('./engine.mjs').Engine} Engine */
/** @typedef {import('node:http').IncomingMessage} Req */
/** @typedef {import('node:http').ServerResponse} Res */

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

/** @typedef {(engine: Engine, req: Req, res: Res, seen: import('./state.mjs').Seen, body: any) => void | Promise<void>} PostRoute */

/** Those that the sanity gate asks, too. @param {import('./complete.mjs').Kind} kind @returns {PostRoute} */
const completion = (kind) => (engine, req, res, seen, body) => {
  if (!isSanityQuestion(body)) return complete(engine, req, res, seen, body, kind)
  engine.state.leaveOut(seen)
  return complete(sanityEngine(engine), req, res, seen, body, kind)
}

/** @param {import('./complete.mjs').Kind} kind @returns {PostRoute} */
const inference = (kind) => (engine, req, res, seen, body) => complete(engine, req, res, seen, body, kind)

/** @type {import('./complete.mjs').Kind} */
const INFILL = {
  ...NATIVE,
  ask: ({ input_prefix, input_suffix }) => {
    if (typeof input_prefix !== 'string') return { mistake: '"input_prefix" is required' }
    if (typeof input_suffix !== 'string') return { mistake: '"input_suffix" is required' }
    return { prompt: `${input_prefix}\n${input_suffix}`, last: input_prefix }
  },
}

/** @type {Record<string, PostRoute>} */
export const POST_ROUTES = {
  '/v1/chat/completions': completion(CHAT),
  '/chat/completions': completion(CHAT),
  '/v1/completions': completion(TEXT),
  '/completion': completion(NATIVE),
  '/completions': completion(NATIVE),
  '/infill': inference(INFILL),
  '/v1/responses': inference(RESPONSES),
  '/v1/messages': inference(MESSAGES),
  '/v1/messages/count_tokens': (engine, req, res, seen, body) => {
    const asked = askMessages(body)
    seen.phase = 'done'
    if (!('mistake' in asked)) return json(engine, req, res, 200, { input_tokens: tokensOf(asked.prompt).length })
    sendError(res, asked.status, baseHeaders(req, engine.knobs), asked.type, asked.mistake)
  },
  '/v1/embeddings': inference(EMBEDDINGS),
  '/v1/rerank': inference(RERANK),
  '/rerank': inference(RERANK),
  '/v1/reranking': inference(RERANK),
  '/v1/audio/speech': inference(SPEECH),
  '/v1/audio/transcriptions': inference(TRANSCRIPTIONS),
  '/v1/images/generations': inference(IMAGES),
  '/tokenize': (engine, req, res, seen, body) => {
    seen.phase = 'done'
    const content = String(body.content ?? '')
    const ids = tokenIds(content)
    const pieces = body.with_pieces === true ? tokensOf(content) : undefined
    const tokens = pieces === undefined ? ids : ids.map((id, i) => ({ id, piece: pieces[i] }))
    json(engine, req, res, 200, { tokens })
  },
  '/detokenize': (engine, req, res, seen, body) => {
    seen.phase = 'done'
    json(engine, req, res, 200, { content: textOfIds(Array.isArray(body.tokens) ? body.tokens : []) })
  },
}

/** Those whose body is multipart/form-data. */
export const FORM_ROUTES = new Set(['/v1/audio/transcriptions'])
