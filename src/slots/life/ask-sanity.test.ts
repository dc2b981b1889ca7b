import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { systemClock } from '../../kernel/clock.ts'
import { askSanity } from './ask-sanity.ts'
import type { SanityAsk, SanityVerdict } from './sanity.ts'

/** How a route answers: a body that ends, or whatever a function does. */
type Answer = readonly [status: number, body: string] | ((response: ServerResponse) => void)

interface Asked {
  readonly path: string
  readonly key: string | undefined
  readonly body: Readonly<Record<string, unknown>>
}

const text = (words: string): Answer => [200, JSON.stringify({ choices: [{ text: words, finish_reason: 'stop' }] })]
const chat = (content: string, more: object = {}): Answer => [
  200,
  JSON.stringify({ choices: [{ message: { role: 'assistant', content, ...more }, finish_reason: 'stop' }] }),
]
const events = (...list: readonly unknown[]): string =>
  list.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('')
const stream = (...list: readonly unknown[]): Answer => [200, events(...list)]
const delta = (part: object, finish: string | null = null) => ({ choices: [{ delta: part, finish_reason: finish }] })
const error = (status: number, message: string): Answer => [status, JSON.stringify({ error: { message } })]
const cut: Answer = (response) => void response.socket?.destroy()
const GONE: Answer = [404, '{"detail":"Not Found"}']

let server: Server | undefined
afterEach(async () => {
  const open = server
  server = undefined
  if (open === undefined) return
  open.closeAllConnections()
  await new Promise((resolve) => open.close(resolve))
})

interface Answers {
  readonly completion?: Answer
  readonly chat?: Answer
  /** What chat says from the second time on; absent = the same. */
  readonly chatAgain?: Answer
}

async function serve(answers: Answers) {
  const asked: Asked[] = []
  const reply = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = ''
    for await (const part of request) body += String(part)
    const path = request.url ?? ''
    const isFirst = !asked.some((each) => each.path === path)
    asked.push({ path, key: request.headers.authorization, body: JSON.parse(body) as Asked['body'] })
    const chatAnswer = isFirst ? answers.chat : (answers.chatAgain ?? answers.chat)
    const answer = (path === '/v1/completions' ? answers.completion : chatAnswer) ?? GONE
    if (typeof answer === 'function') return answer(response)
    response.writeHead(answer[0], { 'content-type': 'application/json' }).end(answer[1])
  }
  const listening = createServer((request, response) => void reply(request, response))
  server = listening
  listening.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  const address = listening.address()
  if (address === null || typeof address === 'string') throw new Error('no address')
  const connections = () => new Promise<number>((resolve) => listening.getConnections((_e, count) => resolve(count)))
  return { origin: `http://127.0.0.1:${address.port}`, asked, connections }
}

function questionOf(origin: string, more: Partial<SanityAsk> = {}): SanityAsk {
  const routes = ['/v1/chat/completions', '/v1/completions'] as const
  const { signal } = new AbortController()
  return { origin, engineKey: 'k', alias: 'slot-a', routes, mode: 'strict', isCpu: false, signal, ...more }
}

describe('the verdict on an engine', () => {
  const WRONG = text('Bananas are stones')
  it.each<[string, Answers, Partial<SanityVerdict>, string]>([
    ['it completes rightly', { completion: text(' Paris.') }, { kind: 'passed' }, 'c'],
    [
      'as a stream',
      { completion: stream({ choices: [{ text: ' Pa' }] }, { choices: [{ text: 'ris' }] }) },
      { kind: 'passed' },
      'c',
    ],
    ['only chat is right', { completion: WRONG, chat: chat('It is Paris.') }, { kind: 'passed' }, 'ch'],
    [
      'chat alone, as a stream',
      {
        chat: stream(
          delta({ role: 'assistant', content: null }),
          delta({ content: 'Par' }),
          delta({ content: 'is' }),
          '[DONE]',
        ),
      },
      { kind: 'passed' },
      'ch',
    ],
    ['chat-only: 400', { completion: error(400, 'use chat'), chat: chat('Paris') }, { kind: 'passed' }, 'ch'],
    ['completions break: 500', { completion: error(500, 'oops'), chat: chat('Paris') }, { kind: 'passed' }, 'ch'],
    [
      'it only thinks',
      { completion: GONE, chat: chat('', { reasoning_content: 'Paris, I think' }) },
      { kind: 'passed' },
      'ch',
    ],
    [
      'it thinks under another name',
      { chat: stream(delta({ reasoning: 'The capital is Paris' }, 'length')) },
      { kind: 'passed' },
      'ch',
    ],
    [
      'chat refuses what turns thinking off',
      { chat: error(400, 'no chat_template_kwargs'), chatAgain: chat('Paris') },
      { kind: 'passed' },
      'chh',
    ],
    [
      'it says Paris, then breaks',
      {
        completion: (response) => {
          response.writeHead(200).write(events({ choices: [{ text: 'Paris' }] }), () => response.socket?.destroy())
        },
      },
      { kind: 'passed' },
      'c',
    ],
    [
      'Windows lines and comments',
      { completion: [200, ': hi\r\n\r\ndata:{"choices":[{"text":"Paris"}]}\r\n\r\n'] },
      { kind: 'passed' },
      'c',
    ],
    ['neither route', {}, { kind: 'unsupported' }, 'ch'],
    [
      'neither route: 405 and 501',
      { completion: error(405, 'no'), chat: error(501, 'not for this model') },
      { kind: 'unsupported' },
      'ch',
    ],
    [
      'wrong twice',
      { completion: WRONG, chat: chat('Rome \u0000') },
      { kind: 'failed', sample: 'Rome \\u{0}', why: 'it does not name Paris' },
      'ch',
    ],
    ['wrong, and no chat', { completion: WRONG }, { kind: 'failed', sample: 'Bananas are stones' }, 'ch'],
    [
      'wrong, then nothing',
      { completion: WRONG, chat: chat('') },
      { kind: 'failed', sample: 'Bananas are stones' },
      'ch',
    ],
    [
      'nothing at all',
      { completion: text(''), chat: stream(delta({ content: '' }, 'stop'), '[DONE]') },
      { kind: 'failed', sample: '', why: 'it said nothing' },
      'ch',
    ],
    [
      'thoughts go round',
      { chat: chat(' ', { reasoning_content: 'GGGGGGGG' }) },
      { kind: 'failed', sample: 'GGGGGGGG' },
      'ch',
    ],
    [
      'a web page',
      { completion: [200, '<html>It works!</html>'] },
      { kind: 'failed', sample: '<html>It works!</html>', why: '/v1/completions gave no answer of the expected form' },
      'ch',
    ],
    [
      'half a document',
      { completion: [200, '{"choices":[{"te'] },
      { kind: 'failed', sample: '{"choices":[{"te' },
      'ch',
    ],
    [
      'overloaded: 503',
      { completion: error(503, 'busy') },
      { kind: 'ambiguous', why: '/v1/completions answered 503: busy' },
      'c',
    ],
    [
      'overloaded: 429',
      { completion: WRONG, chat: [429, 'slow down'] },
      { kind: 'ambiguous', why: '/v1/chat/completions answered 429' },
      'ch',
    ],
    [
      'the key is refused',
      { completion: error(401, 'Invalid API Key') },
      { kind: 'ambiguous', why: '/v1/completions answered 401: Invalid API Key' },
      'c',
    ],
    [
      'both break: 500',
      { completion: error(500, 'CUDA error'), chat: error(500, 'x') },
      { kind: 'ambiguous', why: '/v1/completions answered 500: CUDA error' },
      'chh',
    ],
    [
      'an error in the stream',
      { completion: stream({ error: { message: 'out of memory' } }) },
      { kind: 'ambiguous', why: '/v1/completions answered with an error: out of memory' },
      'c',
    ],
    [
      'the connection is cut',
      { completion: cut },
      { kind: 'ambiguous', why: 'the connection to /v1/completions broke: UND_ERR_SOCKET' },
      'c',
    ],
    [
      'the stream ends in the middle',
      { completion: stream({ choices: [{ text: 'The' }] }) },
      { kind: 'ambiguous', why: 'the answer from /v1/completions broke off' },
      'c',
    ],
    [
      'it does not know its own name',
      { completion: error(404, 'The model `slot-a` does not exist.'), chat: error(404, 'no model slot-a') },
      { kind: 'ambiguous' },
      'chh',
    ],
  ])('%s', async (_name, answers, verdict, asked) => {
    const engine = await serve(answers)
    expect(await askSanity(questionOf(engine.origin), { clock: systemClock })).toMatchObject(verdict)
    expect(engine.asked.map(({ path }) => (path === '/v1/completions' ? 'c' : 'h')).join('')).toBe(asked)
  })
})

describe('the question', () => {
  it('is short, deterministic, without thinking, with the key; chat is asked plainly when it refuses', async () => {
    const engine = await serve({ completion: text('no'), chat: error(422, 'unknown field') })
    await askSanity(questionOf(engine.origin), { clock: systemClock })
    const [completion, first, second] = engine.asked
    const messages = [{ role: 'user', content: 'What is the capital of France?' }]
    const common = { model: 'slot-a', temperature: 0, seed: 1789, stream: true }
    const plain = { ...common, messages, max_tokens: 256 }
    expect(completion?.body).toEqual({ ...common, prompt: 'The capital of France is', max_tokens: 24 })
    expect(first?.body).toEqual({ ...plain, chat_template_kwargs: { enable_thinking: false }, reasoning_effort: 'low' })
    expect(second?.body).toEqual(plain)
    expect(engine.asked.map(({ key }) => key)).toEqual(['Bearer k', 'Bearer k', 'Bearer k'])
  })

  it.each([
    [['/v1/completions'], 'failed', ['/v1/completions']],
    [['/v1/chat/completions', '/v1/embeddings'], 'passed', ['/v1/chat/completions']],
    [['/v1/audio/speech'], 'unsupported', []],
  ] as const)('goes only to routes that the runner has: %s', async (routes, kind, paths) => {
    const engine = await serve({ completion: text('no'), chat: chat('Paris') })
    const verdict = await askSanity(questionOf(engine.origin, { routes, engineKey: undefined }), { clock: systemClock })
    expect(verdict.kind).toBe(kind)
    expect(engine.asked.map(({ path }) => path)).toEqual(paths)
    expect(engine.asked.map(({ key }) => key)).toEqual(paths.map(() => undefined))
  })

  it('is judged leniently where the slot says so', async () => {
    const engine = await serve({ completion: text('Bananas are stones') })
    const ask = questionOf(engine.origin, { mode: 'lenient' })
    expect(await askSanity(ask, { clock: systemClock })).toEqual({ kind: 'passed' })
    const round = await serve({ completion: text('no no no no no') })
    const again = await askSanity(questionOf(round.origin, { mode: 'lenient' }), { clock: systemClock })
    expect(again).toMatchObject({ kind: 'failed', why: 'it is one token over and over' })
  })
})

describe('an answer that takes its time', () => {
  const head = (response: ServerResponse, ...words: readonly string[]): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const word of words) response.write(events({ choices: [{ text: word }] }))
  }
  const silent: Answer = () => {}

  it('is cut as soon as it has said Paris', async () => {
    const engine = await serve({ completion: (response) => head(response, ' Par', 'is and so on') })
    expect(await askSanity(questionOf(engine.origin), { clock: systemClock })).toEqual({ kind: 'passed' })
    await expect.poll(engine.connections).toBe(0)
  })

  it('is cut when it is clear that it becomes none', async () => {
    const garbage = (response: ServerResponse): void => head(response, ...Array.from({ length: 50 }, () => 'no '))
    const engine = await serve({ completion: garbage, chat: garbage })
    const verdict = await askSanity(questionOf(engine.origin), { clock: systemClock })
    expect(verdict).toMatchObject({ kind: 'failed', why: 'it is one token over and over' })
    await expect.poll(engine.connections).toBe(0)
  })

  it('is read to its end from an engine that does not bear a cut', async () => {
    let isCut = false
    const end = new AbortController()
    const engine = await serve({
      completion: (response) => {
        response.once('close', () => (isCut = !response.writableFinished))
        head(response, 'Paris')
        end.signal.addEventListener('abort', () => response.end(events('[DONE]')))
      },
    })
    const verdict = askSanity(questionOf(engine.origin, { onClientAbort: 'drain' }), { clock: systemClock })
    await expect.poll(() => engine.asked.length).toBe(1)
    end.abort()
    expect(await verdict).toEqual({ kind: 'passed' })
    await expect.poll(engine.connections).toBe(0)
    expect(isCut).toBe(false)
  })

  it('is not read for ever, however much an engine says', async () => {
    const engine = await serve({
      completion: (response) => {
        head(response)
        const more = (): void => {
          while (!response.destroyed && response.write(events({ choices: [{ text: 'noise and more '.repeat(50) }] })));
        }
        response.on('drain', more)
        more()
      },
    })
    const verdict = await askSanity(questionOf(engine.origin), { clock: systemClock })
    expect(verdict).toMatchObject({ kind: 'failed', sample: expect.stringMatching(/^noise and more noise/) })
    await expect.poll(engine.connections).toBe(0)
  })

  it.each<[string, Answers, boolean, number, string]>([
    ['a completion has 20 s', { completion: silent }, false, 20_000, '/v1/completions'],
    ['also when it has begun', { completion: (response) => head(response, 'The') }, false, 20_000, '/v1/completions'],
    ['chat has 45 s', { chat: silent }, false, 45_000, '/v1/chat/completions'],
    ['on a CPU a completion has 180 s', { completion: silent }, true, 180_000, '/v1/completions'],
    ['on a CPU chat has what is left', { completion: text('no'), chat: silent }, true, 180_000, '/v1/chat/completions'],
  ])('%s, then it says nothing about the output', async (_name, answers, isCpu, limitMs, path) => {
    const engine = await serve(answers)
    const clock = new ManualClock()
    let verdict: SanityVerdict | undefined
    const done = askSanity(questionOf(engine.origin, { isCpu }), { clock }).then((said) => (verdict = said))
    await expect.poll(() => engine.asked.some((each) => each.path === path)).toBe(true)
    await clock.advance(limitMs - 1)
    expect(verdict).toBeUndefined()
    await clock.advance(1)
    expect(await done).toEqual({ kind: 'ambiguous', why: `no answer from ${path} in time` })
    expect(clock.pendingTimers).toBe(0)
    await expect.poll(engine.connections).toBe(0)
  })

  it('ends with its signal and leaves nothing open', async () => {
    const engine = await serve({ completion: silent })
    const clock = new ManualClock()
    const stop = new AbortController()
    const verdict = askSanity(questionOf(engine.origin, { signal: stop.signal }), { clock })
    await expect.poll(() => engine.asked.length).toBe(1)
    stop.abort()
    expect(await verdict).toEqual({ kind: 'ambiguous', why: 'nobody asks any more' })
    expect(clock.pendingTimers).toBe(0)
    await expect.poll(engine.connections).toBe(0)
  })

  it('is not waited for where nobody listens', async () => {
    const ask = questionOf('http://127.0.0.1:1')
    expect(await askSanity(ask, { clock: systemClock })).toEqual({
      kind: 'ambiguous',
      why: 'the connection to /v1/completions broke: ECONNREFUSED',
    })
  })
})
