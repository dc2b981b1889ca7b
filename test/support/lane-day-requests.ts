import { setTimeout } from 'node:timers/promises'
import OpenAI from 'openai'
import type { LaneWorld, Person } from './lane-day.ts'
import { inTime } from './lane-day-waits.ts'

const PIECES_AT_ONCE = 16
const READING_MS = 8

/** What became of a question. */
export interface Asked {
  readonly sentMs: number
  readonly status: number
  /** What the model said, or the code of the error. */
  readonly said: string
  /** Of an error; undefined = it has no Retry-After. */
  readonly retryAfterS: number | undefined
}

/** What became of a stream. */
export interface Streamed {
  readonly endedMs: number
  /** It was let in: a piece has come. */
  readonly wasServed: boolean
  /** `finished`, `left`, or the code of the error that its last event told. */
  readonly end: string
}

export interface Stream {
  /** Its first piece is here; or it is over without one. */
  readonly begun: Promise<void>
  readonly ended: Promise<Streamed>
  /** How many have come so far. */
  pieces(): number
  /** As `ended`, as soon as that is known. */
  end(): Streamed['end'] | undefined
  /** Its client goes. */
  leave(): void
}

/** The day's requests, by the official client. */
export interface Requests {
  /** A sum: a model that is there says 4. */
  ask(by: Person, model: string): Promise<Asked>
  /** Goes on to `tokens`, whatever the model would say. */
  stream(by: Person, model: string, tokens: number): Stream
  /** By user id: all requests so far. */
  readonly countOf: ReadonlyMap<string, number>
}

export function createRequests({ url }: LaneWorld): Requests {
  const countOf = new Map<string, number>()
  const clients = new Map<Person, OpenAI>()
  function clientOf(by: Person): OpenAI {
    countOf.set(by.id, (countOf.get(by.id) ?? 0) + 1)
    const client = clients.get(by) ?? new OpenAI({ baseURL: `${url}/v1`, apiKey: by.key, maxRetries: 0 })
    clients.set(by, client)
    return client
  }
  return {
    countOf,
    async ask(by, model) {
      const client = clientOf(by)
      const sentMs = Date.now()
      const messages = [{ role: 'user' as const, content: 'What is 2+2?' }]
      try {
        const answer = await client.chat.completions.create({ model, messages, temperature: 0 })
        return { sentMs, status: 200, said: answer.choices[0]?.message.content ?? '', retryAfterS: undefined }
      } catch (error) {
        if (!(error instanceof OpenAI.APIError) || error.status === undefined) throw error
        const retryAfter = error.headers?.get('retry-after') ?? undefined
        const retryAfterS = retryAfter === undefined ? undefined : Number(retryAfter)
        return { sentMs, status: error.status, said: String(error.code), retryAfterS }
      }
    },
    stream(by, model, tokens) {
      const client = clientOf(by)
      const leaving = new AbortController()
      let pieces = 0
      let begin: () => void = () => {}
      const begun = new Promise<void>((resolve) => {
        begin = resolve
      })
      const run = async (): Promise<Streamed> => {
        const messages = [{ role: 'user' as const, content: 'Count to 25' }]
        const wish = { model, messages, max_tokens: tokens, stream: true as const, ...({ ignore_eos: true } as object) }
        let end = 'no finish_reason'
        try {
          for await (const chunk of await client.chat.completions.create(wish, { signal: leaving.signal })) {
            pieces += 1
            begin()
            // Nobody reads faster, and the day goes on in this process too: what is there already is handed out without a turn of the loop.
            if (pieces % PIECES_AT_ONCE === 0) await setTimeout(READING_MS)
            if (typeof chunk.choices[0]?.finish_reason === 'string') end = 'finished'
          }
        } catch (error) {
          if (!(error instanceof OpenAI.APIError)) throw error
          end = String(error.code)
        }
        return { endedMs: Date.now(), wasServed: pieces > 0, end: leaving.signal.aborted ? 'left' : end }
      }
      let end: Streamed['end'] | undefined
      const ended = inTime(`a stream of ${model}`, run())
      // A stream that was refused has begun as well, for those who wait for that.
      void ended.then((over) => {
        end = over.end
        begin()
      }, begin)
      return {
        begun,
        ended,
        end: () => end,
        pieces: () => pieces,
        leave: () => leaving.abort(),
      }
    },
  }
}
