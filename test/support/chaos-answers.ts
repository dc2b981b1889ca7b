import type { ChaosEnd } from './chaos-client.ts'
import type { Api, ChaosPlan, Planned } from './chaos-plan.ts'

/** `200`, `200 then CODE` (a stream that ended in an error event), `STATUS CODE`, `cut`, `left`, or what is wrong in words. */
export type Heard = string

/** What may become of any request to a slot, since slots are stopped, swapped and killed all the time. */
const AT_ANY_TIME = [
  '429 dispatch.queue_full',
  '502 dispatch.upstream_unavailable',
  '503 slot.loading',
  '503 slot.unloading',
  '503 slot.crash_looping',
  '200 then dispatch.upstream_unavailable',
  '200 then slot.unloading',
]

/** By hand: the answers that each kind may get. `anyTime`: those besides. Source: SPEC 4, 6, 11, 20. */
const ALLOWED: Readonly<Record<Planned, { readonly own: readonly Heard[]; readonly anyTime: boolean }>> = {
  answer: { own: ['200'], anyTime: true },
  // Bytes as they come: what breaks off is cut.
  raw_answer: { own: ['200', 'cut'], anyTime: true },
  form_answer: { own: ['200', 'cut'], anyTime: true },
  list: { own: ['200'], anyTime: false },
  look: { own: ['200', 'cut', '503 slot.not_ready'], anyTime: true },
  dies_first: { own: ['502 dispatch.upstream_unavailable'], anyTime: true },
  dies_in_answer: {
    own: ['502 dispatch.upstream_unavailable', '200 then dispatch.upstream_unavailable'],
    anyTime: true,
  },
  stalls: { own: ['200 then dispatch.stalled'], anyTime: true },
  garbage: { own: ['502 dispatch.upstream_unavailable'], anyTime: true },
  status_400: { own: ['400 request.invalid'], anyTime: true },
  status_404: { own: ['404 request.invalid'], anyTime: true },
  status_422: { own: ['422 request.invalid'], anyTime: true },
  status_429: { own: ['429 dispatch.queue_full'], anyTime: true },
  status_500: { own: ['500 dispatch.upstream_unavailable'], anyTime: true },
  status_503: { own: ['503 dispatch.upstream_unavailable'], anyTime: true },
  bad_json: { own: ['400 request.invalid'], anyTime: false },
  bad_model: { own: ['400 request.invalid'], anyTime: false },
  no_prompt: { own: ['400 request.invalid'], anyTime: true },
  // llama-server calls it its own fault.
  no_prompt_messages: { own: ['500 dispatch.upstream_unavailable'], anyTime: true },
  bad_form: { own: ['400 request.invalid'], anyTime: false },
  too_large: { own: ['413 request.too_large'], anyTime: false },
  wrong_route: { own: ['501 dispatch.route_unsupported'], anyTime: false },
  unknown_path: { own: ['404 request.invalid'], anyTime: false },
  wrong_method: { own: ['405 request.invalid'], anyTime: false },
}

/** Cures itself, so it says when to come back. */
const RETRY_AFTER = new Set([
  '429 dispatch.queue_full',
  '503 slot.loading',
  '503 slot.unloading',
  '503 slot.crash_looping',
])
const NEVER_READ = new Set(['501 dispatch.route_unsupported', '413 request.too_large', '503 slot.crash_looping'])

/** How often may engines have read a request that heard this? Once at most, for an answer of an engine's at least once. */
export function readsOf(plan: ChaosPlan, heard: Heard): readonly [least: number, most: number] {
  if (plan.planned === 'list' || NEVER_READ.has(heard)) return [0, 0]
  // The queue's own refusal; the other is the engine's.
  if (heard === '429 dispatch.queue_full' && plan.planned !== 'status_429') return [0, 0]
  return heard.startsWith('200') || heard === 'cut' ? [1, 1] : [0, 1]
}

export function mayHear(plan: ChaosPlan, heard: Heard): boolean {
  if (plan.manner.kind.startsWith('leaves') && heard === 'left') return true
  // An answer too large to be collected first.
  if (plan.manner.kind === 'pauses' && !plan.stream && heard === 'cut') return true
  const { own, anyTime } = ALLOWED[plan.planned]
  return own.includes(heard) || (anyTime && AT_ANY_TIME.includes(heard))
}

/** What did its client hear? Everything that holds for each answer is looked at on the way; words that are no `Heard` say what does not. */
export function heardOf(plan: ChaosPlan, end: ChaosEnd): Heard {
  if (end.kind === 'left' || end.kind === 'hung') return end.kind
  if (end.kind === 'broken') return `broken: ${end.why}`
  const { headers, rawHeaders, status, text } = end
  if (headers['x-request-id'] !== plan.id) return `it has the id ${String(headers['x-request-id'])}`
  if (headers['content-length'] !== undefined && headers['transfer-encoding'] !== undefined) return 'two lengths'
  const origins = rawHeaders.filter((name) => name.toLowerCase() === 'access-control-allow-origin')
  if (origins.length !== 1) return `${origins.length} Access-Control-Allow-Origin`
  if (!end.isWhole) return 'cut'
  if (status !== 200) return errorHeard(plan, status, text, headers['retry-after'])
  const isStream = String(headers['content-type']).startsWith('text/event-stream')
  if (isStream !== plan.stream) return `a stream: ${isStream}`
  return isStream ? streamHeard(plan, text) : wholeHeard(plan, text)
}

function errorHeard(plan: ChaosPlan, status: number, text: string, retryAfter: string | undefined): Heard {
  const body = parsed(text)
  const wrong = shapeMistake(plan, body, plan.dialect === 'anthropic' ? 'anthropic' : 'openai')
  if (wrong !== undefined) return `${status} ${wrong}: ${text}`
  const heard = `${status} ${wordAt(body, 'error', 'code')}`
  if (RETRY_AFTER.has(heard) && !/^[1-9]\d*$/.test(retryAfter ?? '')) return `${heard} without Retry-After`
  return heard
}

/** Undefined = the error has the shape of its dialect. */
function shapeMistake(plan: ChaosPlan, body: unknown, dialect: 'openai' | 'anthropic'): string | undefined {
  const error = at(body, 'error')
  const texts = [at(error, 'message'), at(error, 'type'), at(error, 'code')]
  if (!texts.every((one) => typeof one === 'string' && one !== '')) return 'is no error body'
  if (dialect === 'anthropic') {
    return at(body, 'type') === 'error' && at(body, 'request_id') === plan.id ? undefined : 'is not Anthropic'
  }
  return at(error, 'details', 'request_id') === plan.id && at(error, 'param') !== undefined ? undefined : 'has no id'
}

function wholeHeard(plan: ChaosPlan, text: string): Heard {
  const body = parsed(text)
  if (body === undefined) return `no JSON: ${text.slice(0, 200)}`
  if (plan.model !== undefined && at(body, 'model') !== plan.model) return `model ${wordAt(body, 'model')}`
  const said = plan.api === undefined ? text : textOf(plan.api, body)
  return plan.says === undefined || said.includes(plan.says) ? '200' : `it says ${said.slice(0, 200)}`
}

const END_TYPES = { responses: 'response.completed', anthropic: 'message_stop' } as const

function streamHeard(plan: ChaosPlan, text: string): Heard {
  const { dialect } = plan
  if (!/\r?\n\r?\n$/.test(text)) return `half an event at the end: ${text.slice(-200)}`
  const datas = text.split(/\r?\n/).flatMap((line) => (line.startsWith('data:') ? [line.slice(5).trim()] : []))
  const last = datas.pop()
  let said = ''
  for (const data of datas) {
    const event = parsed(data)
    if (event === undefined) return `an event that is no JSON: ${data.slice(0, 200)}`
    if (at(event, 'error') !== undefined || at(event, 'type') === 'error') return 'an error event that is not the last'
    const model = at(event, 'model') ?? at(event, 'message', 'model') ?? at(event, 'response', 'model')
    if (model !== undefined && model !== plan.model) return `an event of another model: ${data.slice(0, 200)}`
    said += plan.api === undefined ? '' : deltaOf(plan.api, event)
  }
  const event = last === '[DONE]' ? undefined : parsed(last ?? '')
  const isEnd = dialect === 'openai' ? last === '[DONE]' : at(event, 'type') === END_TYPES[dialect]
  if (isEnd) return plan.says === undefined || said.includes(plan.says) ? '200' : `it says ${said.slice(0, 200)}`
  const wrong = shapeMistake(plan, event, dialect === 'anthropic' ? 'anthropic' : 'openai')
  if (wrong !== undefined) return `its last event ${wrong}: ${last}`
  if (dialect === 'responses' && at(event, 'type') !== 'error') return `its last event is not typed: ${last}`
  return `200 then ${wordAt(event, 'error', 'code')}`
}

function textOf(api: Api, body: unknown): string {
  const text = {
    chat: at(body, 'choices', 0, 'message', 'content'),
    completions: at(body, 'choices', 0, 'text'),
    responses: at(body, 'output', 0, 'content', 0, 'text'),
    messages: at(body, 'content', 0, 'text'),
  }[api]
  return typeof text === 'string' ? text : ''
}

function deltaOf(api: Api, event: unknown): string {
  const text = {
    chat: at(event, 'choices', 0, 'delta', 'content'),
    completions: at(event, 'choices', 0, 'text'),
    responses: at(event, 'type') === 'response.output_text.delta' ? at(event, 'delta') : '',
    messages: at(event, 'delta', 'text'),
  }[api]
  return typeof text === 'string' ? text : ''
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The value at a path; undefined = there is none. */
function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  let found = value
  for (const key of path) {
    found = typeof found === 'object' && found !== null ? Reflect.get(found, key) : undefined
  }
  return found
}

function wordAt(value: unknown, ...path: readonly (string | number)[]): string {
  const found = at(value, ...path)
  return typeof found === 'string' ? found : JSON.stringify(found)
}
