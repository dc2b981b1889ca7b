// Embeddings and rerank: one number or a few for each text, no stream.
import { embeddingOf, hashOf, tokensOf } from './answers.mjs'

/** @typedef {import('./complete.mjs').Kind} Kind */

/** As llama-server: the request's own name, else the engine's. @param {any} body @param {string} model @param {import('./knobs.mjs').Knobs} knobs */
const nameIn = (body, model, knobs) =>
  knobs.model_name === null && typeof body.model === 'string' ? body.model : model

/** Little-endian 32-bit floats. @param {number[]} numbers */
const base64Of = (numbers) => Buffer.from(new Float32Array(numbers).buffer).toString('base64')

/** @param {(facts: Parameters<Kind['writer']>[0]) => object} make @returns {Kind['writer']} */
const wholeOnly = (make) => (facts) => ({
  open: () => '',
  chunk: () => '',
  close: () => '',
  whole: () => JSON.stringify(make(facts)),
})

/** @param {any} body @returns {string[]} */
const inputsOf = (body) => (Array.isArray(body.input) ? body.input : [body.input]).map(String)

/** @type {Kind} */
export const EMBEDDINGS = {
  ask: (body, engine) => {
    if (!engine.knobs.embeddings) {
      const mistake = 'This server does not support embeddings. Start it with `--embeddings`'
      return { mistake, status: 501, type: 'not_supported_error' }
    }
    if (body.input === undefined) return { mistake: '"input" or "content" must be provided' }
    const limit = engine.knobs.pooled_limit_tokens
    for (const text of limit > 0 ? inputsOf(body) : []) {
      const tokens = tokensOf(text).length
      if (tokens <= limit) continue
      const mistake = `input (${tokens} tokens) is too large to process. increase the physical batch size (current batch size: ${limit})`
      return { mistake, status: 500, type: 'server_error' }
    }
    return { prompt: '', last: '', says: '' }
  },
  streams: () => false,
  writer: wholeOnly(({ body, model, knobs }) => {
    const inputs = inputsOf(body)
    const tokens = inputs.reduce((sum, text) => sum + tokensOf(text).length, 0)
    const isBase64 = body.encoding_format === 'base64'
    return {
      model: nameIn(body, model, knobs),
      object: 'list',
      usage: { prompt_tokens: tokens, total_tokens: tokens },
      data: inputs.map((text, index) => ({
        embedding: isBase64 ? base64Of(embeddingOf(text)) : embeddingOf(text),
        index,
        object: 'embedding',
        ...(isBase64 ? { encoding_format: 'base64' } : {}),
      })),
    }
  }),
}

/** @type {Kind} */
export const RERANK = {
  ask: (body, engine) => {
    if (!engine.knobs.reranking) {
      const mistake = 'This server does not support reranking. Start it with `--reranking`'
      return { mistake, status: 501, type: 'not_supported_error' }
    }
    if (typeof body.query !== 'string') return { mistake: '"query" must be provided' }
    const isList = Array.isArray(body.documents) && body.documents.length > 0
    return isList ? { prompt: '', last: '', says: '' } : { mistake: '"documents" must be a non-empty string array' }
  },
  streams: () => false,
  writer: wholeOnly(({ body, model, knobs }) => {
    const texts = body.documents.map((/** @type {any} */ d) => (typeof d === 'string' ? d : String(d?.text ?? '')))
    const tokens = texts.reduce(
      (/** @type {number} */ sum, /** @type {string} */ text) => sum + tokensOf(body.query + text).length,
      0,
    )
    const results = texts.map((/** @type {string} */ text, /** @type {number} */ index) => ({
      index,
      // Between -10 and 10, and highest for the document that is the question.
      relevance_score: text === body.query ? 10 : (hashOf(`${body.query}\n${text}`) / 2 ** 32) * 19 - 10,
    }))
    const top = typeof body.top_n === 'number' ? body.top_n : results.length
    const isBest = (/** @type {any} */ r) =>
      results.filter((/** @type {any} */ other) => other.relevance_score > r.relevance_score).length < top
    return {
      model: nameIn(body, model, knobs),
      object: 'list',
      usage: { prompt_tokens: tokens, total_tokens: tokens },
      results: results.filter(isBest),
    }
  }),
}
