import { createParser } from 'eventsource-parser'
import { anthropicOf, openaiOf } from './client-world.ts'

/** The shapes in which text is asked for, and how the official client of each reads a stream. */
export interface TextDialect {
  readonly name: string
  readonly path: string
  /** A question whose answer has more than three tokens; `model` and `stream` are the test's. */
  readonly body: Readonly<Record<string, unknown>>
  /** Where an event or an answer names its model; undefined = it does not. */
  modelOf(said: Readonly<Record<string, unknown>>): unknown
  /** The stream as the official client hands it out. Throws what that throws. */
  read(origin: string, body: object, headers?: Readonly<Record<string, string>>): Promise<readonly unknown[]>
}

const STORY = 'Tell me a long story of 世界 and "model":"x"'
const messages = [{ role: 'user' as const, content: STORY }]

const fieldOf = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null && key in value
    ? Object.entries(value).find(([k]) => k === key)?.[1]
    : undefined

async function all(stream: AsyncIterable<unknown>): Promise<readonly unknown[]> {
  const events: unknown[] = []
  for await (const event of stream) events.push(event)
  return events
}

export const TEXT_DIALECTS: readonly TextDialect[] = [
  {
    name: 'chat',
    path: '/v1/chat/completions',
    body: { messages },
    modelOf: (said) => said['model'],
    read: async (origin, more, headers = {}) =>
      all(
        await openaiOf({ origin, key: 'x' }).chat.completions.create(
          { model: 'agent', messages, ...more, stream: true },
          { headers },
        ),
      ),
  },
  {
    name: 'completions',
    path: '/v1/completions',
    body: { prompt: STORY },
    modelOf: (said) => said['model'],
    read: async (origin, more, headers = {}) =>
      all(
        await openaiOf({ origin, key: 'x' }).completions.create(
          { model: 'agent', prompt: STORY, ...more, stream: true },
          { headers },
        ),
      ),
  },
  {
    name: 'responses',
    path: '/v1/responses',
    body: { input: STORY },
    modelOf: (said) => said['model'] ?? fieldOf(said['response'], 'model'),
    read: async (origin, more, headers = {}) =>
      all(
        await openaiOf({ origin, key: 'x' }).responses.create(
          { model: 'agent', input: STORY, ...more, stream: true },
          { headers },
        ),
      ),
  },
  {
    name: 'messages',
    path: '/v1/messages',
    body: { messages, max_tokens: 100 },
    modelOf: (said) => said['model'] ?? fieldOf(said['message'], 'model'),
    read: async (origin, more, headers = {}) =>
      all(
        await anthropicOf({ origin, key: 'x' }).messages.create(
          { model: 'agent', messages, max_tokens: 100, ...more, stream: true },
          { headers },
        ),
      ),
  },
]

/** One event of a stream, as a parser reads it that knows nothing of any API. */
export interface ParsedEvent {
  readonly event: string | undefined
  readonly data: string
}

/** `comments`: what came between the events. Throws at what is no event stream, and at an event that is cut off. */
export function parseEvents(text: string): {
  readonly events: readonly ParsedEvent[]
  readonly comments: readonly string[]
} {
  const events: ParsedEvent[] = []
  const comments: string[] = []
  const parser = createParser({
    onEvent: ({ event, data }) => void events.push({ event, data }),
    onComment: (comment) => void comments.push(comment),
    onError: (error) => {
      throw error
    },
  })
  parser.feed(text)
  if (!/\n\r?\n$/.test(text)) throw new Error(`the stream ends within an event: ${text.slice(-80)}`)
  return { events, comments }
}
