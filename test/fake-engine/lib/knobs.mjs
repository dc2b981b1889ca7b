// The knobs of the fake engine: names, defaults, and where they are read from. README.md holds the table for people.

/** Every knob with its default; the default engine behaves like a healthy llama-server. */
export const KNOB_DEFAULTS = Object.freeze({
  // Start and load
  listen_delay_ms: 0,
  load_ms: 0,
  hold_load: false,
  models_early: false,
  check_model: false,
  hang: null,
  health_status: null,
  health_body: null,
  health_hang: false,
  say: null,
  allocate_mb: 0,
  grandchild: null,
  grandchild_ignores_sigterm: false,
  exit_on_stdin_end: false,
  // End
  exit_after_ms: null,
  exit_during_load: false,
  exit_after_requests: 0,
  exit_before_answer: 0,
  exit_code: 1,
  exit_signal: null,
  last_words: null,
  ignore_sigterm: false,
  slow_stop_ms: 0,
  // Identity
  accept_key: null,
  alias: null,
  models_need_key: false,
  models_empty: false,
  model_name: null,
  // Routes
  missing_routes: [],
  missing_status: 404,
  // Generation
  total_slots: 0,
  tokens_per_second: 0,
  chunk_tokens: 1,
  chunk_bytes: 0,
  write_bytes: 0,
  stamp: false,
  answer: null,
  echo: false,
  gibberish: null,
  embeddings: true,
  reranking: true,
  pooled_limit_tokens: 0,
  // The known question of the sanity gate
  sanity_answer: null,
  sanity_delay_ms: 0,
  sanity_knobs: null,
  // Stalls
  stall_first_ms: 0,
  hold_first: false,
  headers_early: false,
  stall_mid_ms: 0,
  stall_after_tokens: 1,
  hold_after_tokens: null,
  // Failures
  die_after_tokens: null,
  die_how: 'cut',
  error_status: 0,
  error_body: null,
  error_count: -1,
  error_headers: null,
  garbage: null,
  // HTTP manners
  keep_alive_ms: 5000,
  refuse: false,
  unlisten_ms: 0,
  close_after_sse: false,
  close_after_answer: false,
  transfer: 'length',
  bad_chunking: false,
  sse_crlf: false,
  sse_done: true,
  early_answer: 0,
  read_body_slowly: 0,
  usage: true,
  usage_on_request: false,
  timings: true,
  cors: 'echo',
  extra_headers: null,
})

/** @typedef {{ -readonly [K in keyof typeof KNOB_DEFAULTS]: any }} Knobs */

/** What a knob with a fixed set of words may be. */
const WORDS = {
  hang: [null, 'accept', 'listen'],
  grandchild: [null, 'group', 'setsid'],
  die_how: ['cut', 'reset', 'end', 'exit'],
  garbage: [null, 'html', 'truncated_json', 'not_http', 'empty'],
  gibberish: [null, 'empty', 'control', 'replacement', 'repeated', 'wrong', 'huge'],
  transfer: ['length', 'chunked', 'close', 'short'],
}

/**
 * Checks names and words, so that a misspelt knob is an error and never a test that passes by luck.
 * @param {Record<string, unknown>} given
 * @returns {string | undefined} what is wrong, for people
 */
export function knobMistake(given) {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(KNOB_DEFAULTS, name)) return `unknown knob "${name}"; see test/fake-engine/README.md`
    const words = /** @type {Record<string, unknown[]>} */ (WORDS)[name]
    if (words !== undefined && !words.includes(value)) {
      return `knob "${name}" is ${JSON.stringify(value)}, expected one of ${JSON.stringify(words)}`
    }
    if (name === 'sanity_knobs' && value !== null) {
      if (typeof value !== 'object' || Array.isArray(value)) return 'knob "sanity_knobs": expected an object of knobs'
      const mistake = knobMistake(/** @type {Record<string, unknown>} */ (value))
      if (mistake !== undefined) return `in sanity_knobs: ${mistake}`
    }
  }
  return undefined
}

/** @param {string} text */
function valueOf(text) {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/**
 * FAKE_KNOBS (one JSON object), then FAKE_<NAME> one by one (JSON, else the bare text). Later wins.
 * @param {Record<string, string | undefined>} env
 * @returns {Knobs}
 */
export function knobsFromEnv(env) {
  /** @type {Record<string, unknown>} */
  const given = env.FAKE_KNOBS ? JSON.parse(env.FAKE_KNOBS) : {}
  for (const [name, text] of Object.entries(env)) {
    if (name.startsWith('FAKE_') && name !== 'FAKE_KNOBS' && text !== undefined) {
      given[name.slice('FAKE_'.length).toLowerCase()] = valueOf(text)
    }
  }
  const mistake = knobMistake(given)
  if (mistake !== undefined) throw new Error(mistake)
  return { ...KNOB_DEFAULTS, ...given }
}
