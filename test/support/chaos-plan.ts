import type { ApiDialect } from '../../src/contract/api-dialect.ts'
import type { FakeKnobs } from './start-fake.ts'

/** What is planned to happen to a request; `chaos-answers.ts` says what its client may hear of it. */
export type Planned =
  | 'answer'
  | 'raw_answer'
  | 'form_answer'
  | 'list'
  | 'look'
  | 'dies_first'
  | 'dies_in_answer'
  | 'stalls'
  | 'garbage'
  | 'status_400'
  | 'status_404'
  | 'status_422'
  | 'status_429'
  | 'status_500'
  | 'status_503'
  | 'bad_json'
  | 'bad_model'
  | 'no_prompt'
  | 'no_prompt_messages'
  | 'bad_form'
  | 'too_large'
  | 'wrong_route'
  | 'unknown_path'
  | 'wrong_method'

/** When its client goes away, or how it reads. */
export type Manner =
  | { readonly kind: 'stays' }
  /** Stops reading after the first bytes, for a while. */
  | { readonly kind: 'pauses'; readonly forMs: number }
  | { readonly kind: 'leaves_in_body' }
  /** So long after the whole request was handed to the kernel. */
  | { readonly kind: 'leaves_after'; readonly afterMs: number }
  /** With the first bytes of the answer's body. */
  | { readonly kind: 'leaves_in_answer' }

/** Where the answer's text stands. */
export type Api = 'chat' | 'completions' | 'responses' | 'messages'

/** One request of the chaos test. */
export interface ChaosPlan {
  readonly id: string
  readonly planned: Planned
  readonly manner: Manner
  readonly method: string
  readonly path: string
  readonly contentType: string
  readonly body: Buffer | undefined
  readonly dialect: ApiDialect
  /** It asked for an event stream. */
  readonly stream: boolean
  /** The name that every `model` of the answer has to have; undefined = not looked at. */
  readonly model: string | undefined
  /** Where to look for the text; undefined = it has none. */
  readonly api: Api | undefined
  /** What a whole answer has to say; undefined = not looked at. */
  readonly says: string | undefined
}

/** Numbers from 0 to 1, the same for the same seed. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const PATHS: Readonly<Record<Api, string>> = {
  chat: '/v1/chat/completions',
  completions: '/v1/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
}
const DIALECTS: Readonly<Record<Api, ApiDialect>> = {
  chat: 'openai',
  completions: 'openai',
  responses: 'responses',
  messages: 'anthropic',
}
/** Names, and the slot whose engine answers. `twin` is loaded on demand, `nobody` falls back. */
const NAMES = ['agent', 'agent', 'helper', 'hello', 'rude', 'rude', 'rude', 'twin', 'nobody-knows-this', 'hal0/rude']
/** Longer than any request may take, so that only a departure ends it. */
const FOR_EVER = -1
/** Above the limit that the chaos test sets for JSON. */
const TOO_LARGE_BYTES = 1_200_000

/** So many requests, in an order of chance. */
export function planChaos(seed: number, count: number): readonly ChaosPlan[] {
  const random = randomOf(seed)
  return Array.from({ length: count }, (_, n) => planOne(`chaos-${seed}-${n}`, random))
}

function planOne(id: string, random: () => number): ChaosPlan {
  const among = <T>(list: readonly [T, ...T[]]): T => list[Math.floor(random() * list.length)] ?? list[0]
  const dice = random()
  if (dice < 0.72) return planText(id, random)
  if (dice < 0.79) return planEmbedding(id, random)
  if (dice < 0.85) return planForm(id, random)
  if (dice < 0.89) return planUpstream(id, random)
  if (dice < 0.93) {
    const tokenize = { path: '/v1/tokenize', body: json({ model: 'agent', content: `say ${id}` }) }
    const content = json({ model: 'rude', messages: [{ role: 'user', content: 'count me' }] })
    const count = { path: '/v1/messages/count_tokens', body: content, dialect: 'anthropic' } as const
    return base(id, among([tokenize, count]))
  }
  if (dice < 0.95) return base(id, { planned: 'list', method: 'GET', path: among(['/v1/models', '/v1/models/agent']) })
  return planMistake(id, random)
}

/** Chat and its like: with and without a stream, and with all that may happen on the way. */
function planText(id: string, random: () => number): ChaosPlan {
  const among = <T>(list: readonly [T, ...T[]]): T => list[Math.floor(random() * list.length)] ?? list[0]
  const api = among<Api>(['chat', 'chat', 'chat', 'completions', 'responses', 'messages'])
  const stream = random() < 0.6
  let model = NAMES[Math.floor(random() * NAMES.length)] ?? 'agent'
  const dice = random()
  let planned: Planned = 'answer'
  let manner: Manner = { kind: 'stays' }
  let fake: FakeKnobs = {}
  let more: object = {}
  let says: string | undefined = id
  if (dice < 0.4) fake = among<FakeKnobs>([{}, {}, { stall_first_ms: 40 }, { tokens_per_second: 200 }])
  else if (dice < 0.55) fake = among<FakeKnobs>([{ transfer: 'chunked' }, { transfer: 'close' }, { write_bytes: 7 }])
  else if (dice < 0.61) {
    planned = among(['status_400', 'status_404', 'status_422', 'status_429', 'status_500', 'status_503'])
    // 404 speaks of the model: without such words it would say that there is no such route.
    fake = {
      error_status: Number(planned.slice(-3)),
      error_body: { error: { message: 'the model said no', type: 'planned' } },
    }
  } else if (dice < 0.64) {
    planned = 'garbage'
    fake = { garbage: among(['html', 'truncated_json', 'empty', 'not_http']) }
  } else if (dice < 0.71) {
    const isFirst = random() < 0.4
    planned = isFirst ? 'dies_first' : 'dies_in_answer'
    const how = among(['cut', 'cut', 'end', 'reset', 'exit'])
    // A reset of the engine's own looks like a request that came unread where its process dies as well, or where it has ended its side of
    // the connection and reads on: the engine that resets does neither.
    if (how === 'reset') model = 'rude'
    if (how === 'exit') model = 'agent'
    // Before the first byte there is nothing that could end well.
    fake = { die_after_tokens: isFirst ? 0 : 2, die_how: isFirst && how === 'end' ? 'cut' : how }
  } else if (dice < 0.72) {
    planned = stream ? 'stalls' : 'answer'
    fake = { stall_mid_ms: stream ? FOR_EVER : 300, stall_after_tokens: 2 }
  } else if (dice < 0.74 && api !== 'responses') {
    // Of responses the last event holds all of the text: a line too long to be whole when its engine dies.
    manner = { kind: 'pauses', forMs: Math.floor(random() * 400) }
    fake = { chunk_bytes: 30_000 }
    more = { ignore_eos: true, max_tokens: 80 }
    says = undefined
  } else if (dice < 0.78) manner = { kind: 'leaves_in_body' }
  else if (dice < 0.88) manner = { kind: 'leaves_after', afterMs: Math.floor(random() * 12) }
  else if (dice < 0.94) {
    manner = { kind: 'leaves_after', afterMs: 20 + Math.floor(random() * 150) }
    fake = { stall_first_ms: FOR_EVER }
  } else if (stream) {
    manner = { kind: 'leaves_in_answer' }
    fake = { tokens_per_second: 30 }
  }
  const prompt = promptOf(api, `say ${id}`)
  const body = json({ model, stream, ...prompt, ...more, fake })
  return base(id, { planned, manner, path: PATHS[api], body, dialect: DIALECTS[api], stream, model, api, says })
}

function promptOf(api: Api, text: string): object {
  if (api === 'completions') return { prompt: text }
  if (api === 'responses') return { input: text }
  return { messages: [{ role: 'user', content: text }] }
}

function planEmbedding(id: string, random: () => number): ChaosPlan {
  const model = random() < 0.5 ? 'embed' : 'vectors'
  const fake = random() < 0.2 ? { stall_first_ms: 60 } : {}
  const manner: Manner =
    random() < 0.2 ? { kind: 'leaves_after', afterMs: Math.floor(random() * 20) } : { kind: 'stays' }
  return base(id, { manner, path: '/v1/embeddings', body: json({ model, input: `say ${id}`, fake }), model })
}

const BOUNDARY = 'chaos-boundary'

function planForm(id: string, random: () => number): ChaosPlan {
  const size = 10 + Math.floor(random() * 60_000)
  const field = (name: string, value: string) =>
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const parts = [
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="${id}.wav"\r\n\r\n`,
    `${'x'.repeat(size)}\r\n`,
    random() < 0.5 ? field('model', 'stt') : field('language', 'en'),
    `--${BOUNDARY}--\r\n`,
  ]
  const manner: Manner = random() < 0.2 ? { kind: 'leaves_in_body' } : { kind: 'stays' }
  return base(id, {
    planned: 'form_answer',
    manner,
    path: '/v1/audio/transcriptions',
    contentType: `multipart/form-data; boundary=${BOUNDARY}`,
    body: Buffer.from(parts.join('')),
    says: `Heard ${id}.wav: ${size} bytes`,
  })
}

function planUpstream(id: string, random: () => number): ChaosPlan {
  if (random() < 0.5) return base(id, { planned: 'look', method: 'GET', path: '/upstream/embed/props' })
  const messages = [{ role: 'user', content: `say ${id}` }]
  const path = '/upstream/rude/v1/chat/completions'
  return base(id, { planned: 'raw_answer', path, body: json({ model: 'any', messages }), api: 'chat', says: id })
}

function planMistake(id: string, random: () => number): ChaosPlan {
  const messages = [{ role: 'user', content: 'hi' }]
  const mistakes: readonly Partial<ChaosPlan>[] = [
    { planned: 'bad_json', body: Buffer.from('{"model":"agent","messages":[') },
    { planned: 'bad_json', body: Buffer.from('') },
    { planned: 'bad_model', body: json({ model: 7, messages }) },
    { planned: 'no_prompt', body: json({ model: 'agent' }) },
    { planned: 'no_prompt_messages', path: '/v1/messages', body: json({ model: 'agent' }), dialect: 'anthropic' },
    { planned: 'bad_json', path: '/v1/messages', body: Buffer.from('[1'), dialect: 'anthropic' },
    { planned: 'bad_form', path: '/v1/audio/transcriptions', body: json({ model: 'stt' }) },
    { planned: 'too_large', body: json({ model: 'agent', messages, pad: 'x'.repeat(TOO_LARGE_BYTES) }) },
    { planned: 'wrong_route', body: json({ model: 'embed', messages }) },
    { planned: 'unknown_path', path: '/v1/nothing/here', body: json({}) },
    { planned: 'wrong_method', method: 'GET' },
  ]
  return base(id, { path: '/v1/chat/completions', ...mistakes[Math.floor(random() * mistakes.length)] })
}

function base(id: string, some: Partial<ChaosPlan>): ChaosPlan {
  return {
    id,
    planned: 'answer',
    manner: { kind: 'stays' },
    method: 'POST',
    path: '/',
    contentType: 'application/json',
    body: undefined,
    dialect: 'openai',
    stream: false,
    model: undefined,
    api: undefined,
    says: undefined,
    ...some,
  }
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value))
}
