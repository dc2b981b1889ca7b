// What the fake engine says: deterministic, and different for every prompt, so that a mixed-up answer is noticed.

/** 32-bit FNV-1a over UTF-16 units. @param {string} text */
export function hashOf(text) {
  let h = 0x811c9dc5
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  return h >>> 0
}

/** Pieces of at most four characters, a leading space kept. One piece is one token. @param {string} text */
export function tokensOf(text) {
  return text.match(/\s?[^\s]{1,4}|\s/gu) ?? []
}

/** @type {Map<number, string>} */
const pieceOf = new Map()

/** @param {string} text */
export function tokenIds(text) {
  return tokensOf(text).map((piece) => {
    const id = hashOf(piece) % 32_000
    pieceOf.set(id, piece)
    return id
  })
}

/** Only of ids that tokenIds gave before. @param {number[]} ids */
export function textOfIds(ids) {
  return ids.map((id) => pieceOf.get(id) ?? '?').join('')
}

/** @param {unknown} content a message's content: text or parts @returns {string} */
function contentText(content) {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part) => (typeof part?.text === 'string' ? part.text : '')).join('')
}

/**
 * The prompt as one text and what the user said last.
 * @param {any} body
 * @param {boolean} isChat
 * @returns {{ prompt: string, last: string } | { mistake: string }}
 */
export function promptOf(body, isChat) {
  if (!isChat) {
    if (body.prompt === undefined) return { mistake: "'prompt' is required" }
    const prompt = Array.isArray(body.prompt) ? body.prompt.join('') : String(body.prompt)
    return { prompt, last: prompt }
  }
  if (!Array.isArray(body.messages)) return { mistake: "'messages' is required" }
  const lines = body.messages.map((/** @type {any} */ m) => `${m?.role}\n${contentText(m?.content)}`)
  return { prompt: lines.join('\n'), last: contentText(body.messages.at(-1)?.content) }
}

/** Known answers, so that a check of the model's sanity passes. */
const KNOWN = [{ asks: /capital of France/i, says: 'Paris.' }]

/** Longer than anything that a request asked for. */
const HUGE_WORDS = 100_000

/** What broken kernels, quantisations and tokenizers were seen to say. @type {Record<string, () => string>} */
const GIBBERISH = {
  empty: () => '',
  control: () => '\u0000\u0001\u0007\u001b\u0002\u007f'.repeat(6),
  replacement: () => '\uFFFD'.repeat(40),
  repeated: () => 'GGGG'.repeat(40),
  wrong: () => 'Bananas sing loudly under seven wooden clouds.',
  huge: () => 'noise '.repeat(HUGE_WORDS),
}

/**
 * @param {{ prompt: string, last: string }} asked
 * @param {import('./knobs.mjs').Knobs} knobs
 */
function textFor(asked, knobs) {
  if (knobs.answer !== null) return String(knobs.answer)
  if (knobs.gibberish !== null) return GIBBERISH[knobs.gibberish]()
  const known = KNOWN.find((k) => k.asks.test(asked.last))
  return known?.says ?? `Echo ${hashOf(asked.prompt).toString(16).padStart(8, '0')}: ${asked.last}`
}

/** @param {string} text @param {unknown} stop */
function cutAtStop(text, stop) {
  const words = (Array.isArray(stop) ? stop : [stop]).filter((w) => typeof w === 'string' && w !== '')
  const cuts = words.map((w) => text.indexOf(w)).filter((at) => at >= 0)
  return cuts.length === 0 ? text : text.slice(0, Math.min(...cuts))
}

/** Asks for a limit under all the names that llama-server knows; -1 or none = until the end of text. @param {any} body */
function limitOf(body) {
  const asked = body.max_completion_tokens ?? body.max_tokens ?? body.max_output_tokens ?? body.n_predict
  return typeof asked === 'number' && asked >= 0 ? asked : Number.POSITIVE_INFINITY
}

/**
 * Plans one answer: token i, how many, and why it ends.
 * @param {any} body
 * @param {{ prompt: string, last: string }} asked
 * @param {import('./knobs.mjs').Knobs} knobs
 * @param {number} ctxTokens
 * @param {string} [echo] replaces the text (knob `echo`, or what the route says)
 */
export function planAnswer(body, asked, knobs, ctxTokens, echo) {
  const pieces = tokensOf(cutAtStop(echo ?? textFor(asked, knobs), body.stop))
  const promptTokens = tokensOf(asked.prompt).length
  const seed = hashOf(asked.prompt)
  const isHuge = knobs.gibberish === 'huge'
  const room = isHuge ? pieces.length : Math.min(limitOf(body), Math.max(1, ctxTokens - promptTokens))
  const count = body.ignore_eos === true ? room : Math.min(room, pieces.length)
  const pad = knobs.chunk_bytes > 0 ? 'x'.repeat(knobs.chunk_bytes) : ''
  return {
    promptTokens,
    count,
    finishReason: count < pieces.length || body.ignore_eos === true ? 'length' : 'stop',
    /** @param {number} i */
    token: (i) => (pieces[i] ?? ` w${(seed + Math.imul(i, 2654435761)) >>> 0}`) + pad,
  }
}

/** Eight numbers of length 1, from the text. @param {string} text */
export function embeddingOf(text) {
  const raw = Array.from({ length: 8 }, (_, i) => (hashOf(`${i}:${text}`) / 2 ** 32) * 2 - 1)
  const norm = Math.hypot(...raw)
  return raw.map((x) => x / norm)
}
