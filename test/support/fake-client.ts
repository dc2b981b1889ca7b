import { readFileSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import type { FakeEngine } from './start-fake.ts'

/** A chat body with one user message. */
export const chat = (text: string, more: object = {}): string =>
  JSON.stringify({ messages: [{ role: 'user', content: text }], ...more })

/** One chat request with the engine's key. */
export function post(engine: FakeEngine, body: string, init: RequestInit = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${engine.key}`, 'content-type': 'application/json' }
  return fetch(`${engine.origin}/v1/chat/completions`, { method: 'POST', headers, body, ...init })
}

/** The parts of a chat answer that tests read. */
export interface ChatAnswer {
  readonly model: string
  readonly choices: readonly { message: { content: string }; finish_reason: string }[]
  readonly usage: { prompt_tokens: number; completion_tokens: number }
}
export const answerOf = async (response: Response): Promise<ChatAnswer> => (await response.json()) as ChatAnswer

/** Events of a complete stream. */
export function eventsOf(text: string): string[] {
  return text
    .split(/\r?\n\r?\n/)
    .filter((e) => e !== '')
    .map((e) => e.replace(/^data: /, ''))
}

/** The text of a chat stream's events. */
export function textOf(events: readonly string[]): string {
  return events
    .filter((e) => e !== '[DONE]')
    .map(
      (e) => (JSON.parse(e) as { choices: { delta?: { content?: string | null } }[] }).choices[0]?.delta?.content ?? '',
    )
    .join('')
}

/** A zombie is dead: where PID 1 reaps nothing, an orphan stays one for ever. */
export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

/** A raw request, so that the test decides when it reads and when it leaves. */
export function open(engine: FakeEngine, body: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const length = Buffer.byteLength(body)
    const headers = { authorization: `Bearer ${engine.key}`, 'content-length': length, connection: 'keep-alive' }
    const req = httpRequest(`${engine.origin}/v1/chat/completions`, { method: 'POST', headers, agent: false }, resolve)
    req.on('error', reject)
    req.end(body)
  })
}
