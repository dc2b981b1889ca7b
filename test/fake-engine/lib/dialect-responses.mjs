// POST /v1/responses: OpenAI's newer API, in the sequence of events that llama-server writes.
import { promptOf } from './answers.mjs'
import { timingsOf } from './dialect.mjs'

/** @typedef {import('./complete.mjs').Kind} Kind */
/** @typedef {import('./dialect.mjs').Totals} Totals */

/** @param {any} body */
function askResponses(body) {
  if (body.input === undefined) return { mistake: "'input' is required" }
  const messages = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : body.input
  if (!Array.isArray(messages)) return { mistake: "'input' must be a string or array of objects" }
  const system = body.instructions === undefined ? [] : [{ role: 'system', content: body.instructions }]
  return promptOf({ messages: [...system, ...messages] }, true)
}

/** @type {Kind} */
export const RESPONSES = {
  ask: askResponses,
  streams: (body) => body.stream === true,
  writer: ({ n, created, model, knobs }) => {
    const eol = knobs.sse_crlf ? '\r\n' : '\n'
    const id = `resp_fake_${n}`
    const itemId = `msg_fake_${n}`
    let said = ''
    /** @param {string} type @param {Record<string, unknown>} more */
    const event = (type, more) => `event: ${type}${eol}data: ${JSON.stringify({ type, ...more })}${eol}${eol}`
    /** @param {string} text */
    const part = (text) => ({ type: 'output_text', annotations: [], logprobs: [], text })
    /** @param {string} text */
    const item = (text) => ({
      type: 'message',
      status: 'completed',
      id: itemId,
      content: [part(text)],
      role: 'assistant',
    })
    /** @param {Totals} t */
    const usage = (t) =>
      knobs.usage
        ? {
            usage: {
              input_tokens: t.promptTokens,
              output_tokens: t.tokens,
              total_tokens: t.promptTokens + t.tokens,
              input_tokens_details: { cached_tokens: 0 },
            },
          }
        : {}
    const begun = { response: { id, object: 'response', status: 'in_progress' } }
    const opening = `event: response.output_text.delta${eol}data: {"type":"response.output_text.delta","item_id":"${itemId}","delta":`
    const stamp = () => (knobs.stamp ? `,"fake_t_ns":"${process.hrtime.bigint()}"` : '')
    return {
      open: () =>
        event('response.created', begun) +
        event('response.in_progress', begun) +
        event('response.output_item.added', {
          item: { content: [], id: itemId, role: 'assistant', status: 'in_progress', type: 'message' },
        }) +
        event('response.content_part.added', { item_id: itemId, part: { type: 'output_text', text: '' } }),
      chunk: (text) => {
        said += text
        return `${opening}${JSON.stringify(text)}${stamp()}}${eol}${eol}`
      },
      close: (t) => {
        const response = { id, object: 'response', created_at: created, status: 'completed', model }
        const whole = { ...response, output: [item(said)], ...usage(t) }
        return (
          event('response.output_text.done', { item_id: itemId, text: said }) +
          event('response.content_part.done', { item_id: itemId, part: part(said) }) +
          event('response.output_item.done', { item: item(said) }) +
          (knobs.sse_done
            ? event('response.completed', { response: whole, ...(knobs.timings ? { timings: timingsOf(t) } : {}) })
            : '')
        )
      },
      whole: (text, t) => {
        const facts = { completed_at: created, created_at: created, id, model, object: 'response' }
        return JSON.stringify({ ...facts, output: [item(text)], status: 'completed', ...usage(t) })
      },
    }
  },
}
