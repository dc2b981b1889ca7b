// What the bench's engine says: made once, so that a request costs it one write.

/** One event of a stream, about 200 bytes, in its chunk frame. @param {string} model @param {string} content @param {string} [more] */
export function frame(model, content, more = '') {
  const delta = `{"index":0,"delta":{"content":"${content}"},"finish_reason":null}`
  const event = `data: {"id":"chatcmpl-bench0000","object":"chat.completion.chunk","created":1750000000,"model":"${model}",${more}"choices":[${delta}]}\n\n`
  return `${event.length.toString(16)}\r\n${event}\r\n`
}

export const STREAM_HEAD =
  'HTTP/1.1 200 OK\r\nServer: bench\r\nKeep-Alive: timeout=5\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n'
const DONE = 'data: [DONE]\n\n'
export const STREAM_END = `${DONE.length.toString(16)}\r\n${DONE}\r\n0\r\n\r\n`

/** @param {number} status @param {string} body */
export function jsonAnswer(status, body) {
  return `HTTP/1.1 ${status} ${status === 200 ? 'OK' : 'Error'}\r\nServer: bench\r\nKeep-Alive: timeout=5\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

/** A chat answer of exactly 500 bytes. @param {string} model */
export function chatAnswer(model) {
  const usage = '{"prompt_tokens":20,"completion_tokens":60,"total_tokens":80}'
  const front = `{"id":"chatcmpl-bench0000","object":"chat.completion","created":1750000000,"model":"${model}","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"`
  const back = `"}}],"usage":${usage}}`
  return `${front}${'word '.repeat(100).slice(0, 500 - front.length - back.length)}${back}`
}

/** A whole stream without a pause as one piece. @param {string} model @param {number} chunks */
export function wholeStream(model, chunks) {
  const parts = [STREAM_HEAD]
  for (let i = 0; i < chunks; i++)
    parts.push(frame(model, ` token ${String(i).padStart(5, '0')} of a longer answer, as text`))
  parts.push(STREAM_END)
  return Buffer.from(parts.join(''), 'latin1')
}
