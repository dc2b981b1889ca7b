// POST /v1/messages and its count_tokens, in Anthropic's shapes as llama-server writes them.
import { promptOf } from './answers.mjs'

/** @typedef {import('./complete.mjs').Kind} Kind */
/** @typedef {import('./dialect.mjs').Totals} Totals */

/** llama-server answers 500 where `messages` is missing. @param {any} body */
export function askMessages(body) {
  const asked = promptOf(body, true)
  if ('mistake' in asked) return { ...asked, status: 500, type: 'server_error' }
  const system = promptOf({ messages: [{ role: 'system', content: body.system }] }, true)
  return body.system === undefined || 'mistake' in system
    ? asked
    : { ...asked, prompt: `${system.prompt}\n${asked.prompt}` }
}

/** @type {Kind} */
export const MESSAGES = {
  ask: askMessages,
  streams: (body) => body.stream === true,
  writer: ({ n, model, knobs }) => {
    const eol = knobs.sse_crlf ? '\r\n' : '\n'
    const head = { id: `chatcmpl-fake-${n}`, type: 'message', role: 'assistant' }
    /** @param {string} type @param {Record<string, unknown>} [more] */
    const event = (type, more = {}) => `event: ${type}${eol}data: ${JSON.stringify({ type, ...more })}${eol}${eol}`
    /** @param {number} input @param {number} output */
    const usage = (input, output) =>
      knobs.usage ? { usage: { cache_read_input_tokens: 0, input_tokens: input, output_tokens: output } } : {}
    /** @param {Totals} t */
    const end = (t) => ({
      stop_reason: t.finishReason === 'stop' ? 'end_turn' : 'max_tokens',
      stop_sequence: null,
    })
    const opening = `event: content_block_delta${eol}data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":`
    const stamp = () => (knobs.stamp ? `,"fake_t_ns":"${process.hrtime.bigint()}"` : '')
    return {
      open: (promptTokens) => {
        const message = { ...head, content: [], model, stop_reason: null, stop_sequence: null }
        return (
          event('message_start', { message: { ...message, ...usage(promptTokens, 0) } }) +
          event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } })
        )
      },
      chunk: (text) => `${opening}${JSON.stringify(text)}}${stamp()}}${eol}${eol}`,
      close: (t) =>
        event('content_block_stop', { index: 0 }) +
        event('message_delta', { delta: end(t), ...(knobs.usage ? { usage: { output_tokens: t.tokens } } : {}) }) +
        (knobs.sse_done ? event('message_stop') : ''),
      whole: (text, t) =>
        JSON.stringify({
          ...head,
          content: [{ type: 'text', text }],
          model,
          ...end(t),
          ...usage(t.promptTokens, t.tokens),
        }),
    }
  },
}
