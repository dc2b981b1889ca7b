import { createParser } from 'eventsource-parser'
import { describe, expect, it } from 'vitest'
import { startClientWorld } from '../support/client-world.ts'

// A raw stream through hal0, read by a parser that knows nothing of either API: the events of the engine, names aside.

const messages = [{ role: 'user', content: 'Tell me of 世界 and 💡, "quoted" and \\ slashed' }]
const STREAMS = [
  ['/v1/chat/completions', '/v1/chat/completions', { messages }],
  ['/v1/completions', '/v1/completions', { prompt: messages[0]?.content }],
  ['/v1/responses', '/v1/responses', { input: messages }],
  ['/v1/messages', '/v1/messages', { messages, max_tokens: 100 }],
  ['/upstream/agent/completion', '/completion', { prompt: messages[0]?.content }],
] as const
const MANNERS = [
  {},
  { write_bytes: 1 },
  { write_bytes: 7 },
  { sse_crlf: true },
  { sse_crlf: true, write_bytes: 1 },
  { chunk_tokens: 5, chunk_bytes: 3000 },
]

interface RawEvent {
  readonly event: string | undefined
  readonly id: string | undefined
  readonly data: string
}

/** Feeds the parser with the bytes as they arrive. */
async function readEvents(url: string, key: string, body: object): Promise<RawEvent[]> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  })
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toContain('text/event-stream')
  const events: RawEvent[] = []
  const parser = createParser({
    onEvent: ({ event, id, data }) => void events.push({ event, id, data }),
    onError: (error) => {
      throw error
    },
    onComment: (comment) => {
      throw new Error(`a comment that nobody asked for: ${comment}`)
    },
  })
  const decoder = new TextDecoder()
  for await (const bytes of answer.body ?? []) parser.feed(decoder.decode(bytes, { stream: true }))
  return events
}

/** Without what differs from one run to the next: counted ids, times. Of the engine's names, the one that was asked for. */
function comparable(
  events: readonly RawEvent[],
  names: { readonly engine: string; readonly asked: string },
): unknown[] {
  const rename = (key: string, value: unknown): unknown => {
    if (key === 'timings') return undefined
    if (key === 'model' && value === names.engine) return names.asked
    return typeof value === 'string' ? value.replace(/fake[-_]\d+$/, 'fake') : value
  }
  return events.map(({ event, id, data }) => ({
    event,
    id,
    data: data === '[DONE]' ? data : (JSON.parse(data, rename) as unknown),
  }))
}

describe('an SSE parser on hal0 in front of a fake engine', () => {
  it.each(STREAMS)('%s: the events of the engine, however they are cut', async (path, enginePath, body) => {
    const world = await startClientWorld()
    await world.engine('agent')
    const key = await world.engineKey('agent')
    const engineOrigin = `http://127.0.0.1:${world.daemon.slots.row('agent')?.port}`
    for (const fake of MANNERS) {
      const direct = await readEvents(engineOrigin + enginePath, key, { ...body, model: 'agent', stream: true, fake })
      expect(direct.length).toBeGreaterThanOrEqual(5)
      // Under /upstream nothing is renamed.
      for (const asked of path.startsWith('/upstream') ? ['agent'] : ['agent', 'helper', 'hal0/agent']) {
        const through = await readEvents(world.origin + path, 'x', { ...body, model: asked, stream: true, fake })
        expect(comparable(through, { engine: '', asked: '' })).toEqual(comparable(direct, { engine: 'agent', asked }))
      }
    }
  })

  it('/v1/audio/transcriptions: its events pass as they come', async () => {
    const world = await startClientWorld()
    for (const fake of MANNERS.slice(0, 4)) {
      const form = new FormData()
      form.set('file', new Blob(['abc']), 'a.wav')
      form.set('model', 'stt')
      form.set('stream', 'true')
      form.set('fake', JSON.stringify(fake))
      const answer = await fetch(`${world.origin}/v1/audio/transcriptions`, { method: 'POST', body: form })
      const events: string[] = []
      const parser = createParser({ onEvent: ({ data }) => void events.push(data) })
      parser.feed(await answer.text())
      const last = JSON.parse(events.at(-1) ?? '') as { type: string; text: string }
      expect(last.type).toBe('transcript.text.done')
      expect(last.text).toContain('parts file model stream fake')
    }
  })
})
