import { createHmac } from 'node:crypto'
import { type Dispatcher, request } from 'undici'
import { SECOND_MS } from '../../kernel/units.ts'
import { createHubDispatcher } from '../../models/pull/hub-http.ts'
import { failureText } from './failure-text.ts'
import { decideWebhookOutcome, type SendOutcome } from './rules/next-delivery.ts'

export interface WebhookSettings {
  readonly url: string
  readonly secret?: string | undefined
}

export interface WebhookMessage {
  readonly id: string
  /** JSON. */
  readonly body: string
}

/**
 * Sends one message, signed when there is a secret. 2xx is taken as received; redirects are not followed, the answer's body is not read.
 * Never rejects; `signal` ends it. Source: SPEC 13, the Standard Webhooks specification.
 */
export async function sendWebhook(
  hook: WebhookSettings,
  message: WebhookMessage,
  { nowMs, signal }: { readonly nowMs: number; readonly signal: AbortSignal },
): Promise<SendOutcome> {
  let dispatcher: Dispatcher | undefined
  try {
    const url = new URL(hook.url)
    dispatcher = createHubDispatcher(hook.url)
    const { statusCode, body } = await request(url, {
      method: 'POST',
      dispatcher,
      signal,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'hal0',
        ...authOf(url),
        ...signed(hook, message, nowMs),
      },
      body: message.body,
    })
    // It may fail after nobody reads it any more.
    body.on('error', () => {})
    body.destroy()
    return decideWebhookOutcome(statusCode)
  } catch (thrown) {
    // An address is often a secret itself.
    const { pathname, search, username, password } = new URL(hook.url)
    const hidden = [hook.url, hook.secret, username, password, search, pathname === '/' ? undefined : pathname]
    return { kind: 'failed', reason: failureText(signal.aborted ? signal.reason : thrown, hidden) }
  } finally {
    void dispatcher?.destroy()
  }
}

function authOf({ username, password }: URL): { readonly authorization?: string } {
  if (username === '' && password === '') return {}
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
}

function signed({ secret }: WebhookSettings, { id, body }: WebhookMessage, nowMs: number): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / SECOND_MS))
  const plain = { 'webhook-id': id, 'webhook-timestamp': timestamp }
  if (secret === undefined) return plain
  const signature = createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { ...plain, 'webhook-signature': `v1,${signature}` }
}

/** Secrets that services hand out say by their prefix that they are base64. */
function keyOf(secret: string): Buffer {
  return secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : Buffer.from(secret)
}
