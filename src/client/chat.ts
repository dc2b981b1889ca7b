import { z } from 'zod'
import { errorBodySchema } from '../contract/error-body.ts'
import { parseJson } from '../kernel/read-json.ts'
import { errorFromBody, type Http, unexpected } from './http.ts'

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
}

export interface ChatRequest {
  /** A slot name, alias or model id, as for any OpenAI client. */
  readonly model: string
  readonly messages: readonly ChatMessage[]
  /** 0 = always the likeliest token; absent = the engine's default. */
  readonly temperature?: number
  readonly maxTokens?: number
  /** Stops the answer; the iteration then rejects with `signal.reason`. */
  readonly signal?: AbortSignal
}

const chunkSchema = z.looseObject({
  choices: z.array(z.looseObject({ delta: z.looseObject({ content: z.string().nullish() }).optional() })).optional(),
})

/**
 * Asks through the gateway and yields the answer's text as it comes; no piece is empty.
 * Errors: ClientError (also for an error event mid-stream, with status 0), UnreachableError.
 */
export async function* streamChat(http: Http, request: ChatRequest): AsyncGenerator<string, void, void> {
  const messages = http.events('/v1/chat/completions', {
    method: 'POST',
    body: {
      model: request.model,
      messages: request.messages,
      stream: true,
      ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
      ...(request.maxTokens === undefined ? {} : { max_tokens: request.maxTokens }),
    },
    signal: request.signal,
  })
  for await (const message of messages) {
    if (message.data === '[DONE]') return
    const body = parseJson(message.data)
    const error = errorBodySchema.safeParse(body)
    if (error.success) throw errorFromBody(error.data.error, 0, null)
    const chunk = chunkSchema.safeParse(body)
    if (!chunk.success) throw unexpected(200, `the stream holds ${message.data.slice(0, 200)}`)
    const text = chunk.data.choices?.[0]?.delta?.content ?? ''
    if (text !== '') yield text
  }
  throw unexpected(200, 'the stream ended before the answer was complete')
}
