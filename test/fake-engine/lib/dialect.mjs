// The bytes of llama-server's three completion dialects: chunks, the last event, the whole answer.
import { promptOf } from './answers.mjs'

/** @typedef {'chat' | 'text' | 'native'} Dialect */

/**
 * @typedef {object} Totals
 * @property {number} promptTokens
 * @property {number} tokens
 * @property {string} finishReason
 * @property {number} promptMs
 * @property {number} predictedMs
 */

/** @param {Totals} t */
function usageOf(t) {
  return {
    completion_tokens: t.tokens,
    prompt_tokens: t.promptTokens,
    total_tokens: t.tokens + t.promptTokens,
    prompt_tokens_details: { cached_tokens: 0 },
  }
}

/** @param {Totals} t */
export function timingsOf(t) {
  const predictedMs = Math.max(t.predictedMs, 0.001)
  const promptMs = Math.max(t.promptMs, 0.001)
  return {
    cache_n: 0,
    prompt_n: t.promptTokens,
    prompt_ms: promptMs,
    prompt_per_token_ms: promptMs / Math.max(1, t.promptTokens),
    prompt_per_second: (t.promptTokens * 1000) / promptMs,
    predicted_n: t.tokens,
    predicted_ms: predictedMs,
    predicted_per_token_ms: predictedMs / Math.max(1, t.tokens),
    predicted_per_second: (t.tokens * 1000) / predictedMs,
  }
}

/**
 * Writes one answer's pieces; what does not change from chunk to chunk is built once.
 * @param {{ dialect: Dialect, id: string, created: number, model: string, knobs: import('./knobs.mjs').Knobs, includeUsage: boolean }} of
 */
export function dialectWriter({ dialect, id, created, model, knobs, includeUsage }) {
  const nl = knobs.sse_crlf ? '\r\n\r\n' : '\n\n'
  const object = dialect === 'chat' ? 'chat.completion.chunk' : 'text_completion'
  const facts = { created, id, model, system_fingerprint: 'fake-engine', object }
  const tail = `,${JSON.stringify(facts).slice(1)}${nl}`
  /** @param {Totals} t */
  const extras = (t) => ({
    ...(knobs.usage ? { usage: usageOf(t) } : {}),
    ...(knobs.timings ? { timings: timingsOf(t) } : {}),
  })
  /** @param {unknown} value */
  const event = (value) => `data: ${JSON.stringify(value)}${nl}`
  const stamp = () => (knobs.stamp ? `,"fake_t_ns":"${process.hrtime.bigint()}"` : '')

  return {
    /** What stands before the first token. */
    open: () =>
      dialect === 'chat'
        ? `data: {"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}]${stamp()}${tail}`
        : '',
    /** @param {string} text @param {number} made tokens so far, this one included @param {number} promptTokens */
    chunk: (text, made, promptTokens) => {
      const quoted = JSON.stringify(text)
      if (dialect === 'chat') {
        return `data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":${quoted}}}]${stamp()}${tail}`
      }
      if (dialect === 'text') {
        return `data: {"choices":[{"text":${quoted},"index":0,"logprobs":null,"finish_reason":null}]${stamp()}${tail}`
      }
      return `data: {"index":0,"content":${quoted},"tokens":[],"stop":false,"id_slot":-1,"tokens_predicted":${made},"tokens_evaluated":${promptTokens}${stamp()}}${nl}`
    },
    /** @param {Totals} t */
    close: (t) => {
      if (dialect === 'native') return event(nativeEnd('', model, t, knobs))
      const done = knobs.sse_done ? `data: [DONE]${nl}` : ''
      if (dialect === 'text' && !knobs.usage_on_request) {
        const choice = { text: '', index: 0, logprobs: null, finish_reason: t.finishReason }
        return event({ choices: [choice], ...facts, ...extras(t) }) + done
      }
      const closing = dialect === 'text' ? { text: '', index: 0, logprobs: null } : { index: 0, delta: {} }
      const last = { choices: [{ finish_reason: t.finishReason, ...closing }], ...facts }
      if (!includeUsage) return event({ ...last, ...(knobs.timings ? { timings: timingsOf(t) } : {}) }) + done
      return event(last) + event({ choices: [], ...facts, ...extras(t) }) + done
    },
    /** @param {string} text @param {Totals} t */
    whole: (text, t) => {
      if (dialect === 'native') return JSON.stringify(nativeEnd(text, model, t, knobs))
      const choice =
        dialect === 'chat'
          ? { finish_reason: t.finishReason, index: 0, message: { role: 'assistant', content: text } }
          : { text, index: 0, logprobs: null, finish_reason: t.finishReason }
      const kind = dialect === 'chat' ? 'chat.completion' : 'text_completion'
      return JSON.stringify({ choices: [choice], ...facts, object: kind, ...extras(t) })
    },
  }
}

/** @param {string} content @param {string} model @param {Totals} t @param {import('./knobs.mjs').Knobs} knobs */
function nativeEnd(content, model, t, knobs) {
  return {
    index: 0,
    content,
    tokens: [],
    id_slot: 0,
    stop: true,
    model,
    tokens_predicted: t.tokens,
    tokens_evaluated: t.promptTokens,
    has_new_line: content.includes('\n'),
    truncated: false,
    stop_type: t.finishReason === 'stop' ? 'eos' : 'limit',
    stopping_word: '',
    tokens_cached: t.promptTokens + t.tokens,
    ...(knobs.timings ? { timings: timingsOf(t) } : {}),
  }
}

/** @param {Dialect} dialect @returns {import('./complete.mjs').Kind} */
const kindOf = (dialect) => ({
  ask: (body) => promptOf(body, dialect === 'chat'),
  streams: (body) => body.stream === true,
  writer: ({ n, created, model, knobs, body }) =>
    dialectWriter({
      dialect,
      id: `chatcmpl-fake-${n}`,
      created,
      model,
      knobs,
      includeUsage: body.stream_options?.include_usage === true,
    }),
})

export const CHAT = kindOf('chat')
export const TEXT = kindOf('text')
export const NATIVE = kindOf('native')
