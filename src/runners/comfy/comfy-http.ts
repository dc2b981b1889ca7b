import { Client } from 'undici'
import type { Clock } from '../../kernel/clock.ts'
import { errnoOf, messageOf } from '../../kernel/errors.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { MIB } from '../../kernel/units.ts'

export interface ComfyCall {
  readonly method: 'GET' | 'POST'
  /** With query. */
  readonly path: string
  /** Sent as JSON. */
  readonly body?: unknown
  readonly timeoutMs: number
  /** A longer answer is a fault. */
  readonly limitBytes: number
  /** Ends the call at once. */
  readonly signal?: AbortSignal | undefined
}

export interface ComfyAnswer {
  readonly status: number
  readonly bytes: Buffer
}

/** Why there is no answer. `refused`: nothing was sent; `lost`: the connection ended first; `ended`: by `signal`. */
export interface ComfyFault {
  readonly kind: 'refused' | 'lost' | 'timed_out' | 'too_long' | 'ended'
  /** Behind "ComfyUI …", for people. */
  readonly message: string
  readonly cause?: unknown
}

/** Longest JSON answer: the queue repeats the graphs of all that wait in it; everything else is far smaller. */
export const JSON_LIMIT_BYTES = 16 * MIB

export type ComfyHttp = (call: ComfyCall) => Promise<Result<ComfyAnswer, ComfyFault>>

interface ComfyHttpOptions {
  /** No trailing slash. */
  readonly origin: string
  readonly clock: Clock
  readonly engineKey: string | undefined
  /** An answer has come, whatever it says. */
  readonly onHeard: (() => void) | undefined
}

/** Calls to one ComfyUI, each on a connection of its own, which ends with it: there is nothing to close. Never rejects. */
export function createComfyHttp({ origin, clock, engineKey, onHeard }: ComfyHttpOptions): ComfyHttp {
  const key = engineKey === undefined ? {} : { authorization: `Bearer ${engineKey}` }
  return async ({ method, path, body, timeoutMs, limitBytes, signal }) => {
    const ending = new AbortController()
    let fault: ComfyFault | undefined
    const end = (why: ComfyFault): void => {
      fault ??= why
      ending.abort()
    }
    const onSignal = (): void => end({ kind: 'ended', message: 'is not waited for any more' })
    if (signal?.aborted) onSignal()
    signal?.addEventListener('abort', onSignal)
    const cancel = clock.setTimer(timeoutMs, () =>
      end({ kind: 'timed_out', message: `did not answer ${method} ${pathOnly(path)} within ${timeoutMs} ms` }),
    )
    const client = new Client(origin, { headersTimeout: 0, bodyTimeout: 0, connectTimeout: 0 })
    try {
      const answer = await client.request({
        method,
        path,
        headers: body === undefined ? key : { ...key, 'content-type': 'application/json' },
        body: body === undefined ? null : JSON.stringify(body),
        reset: true,
        signal: ending.signal,
      })
      const parts: Buffer[] = []
      let sizeBytes = 0
      for await (const part of answer.body) {
        const chunk = Buffer.from(part)
        sizeBytes += chunk.length
        if (sizeBytes > limitBytes) {
          const message = `answered ${method} ${pathOnly(path)} with more than ${limitBytes} bytes`
          return err({ kind: 'too_long', message })
        }
        parts.push(chunk)
      }
      onHeard?.()
      return ok({ status: answer.statusCode, bytes: Buffer.concat(parts) })
    } catch (cause) {
      return err(fault ?? faultOf(cause, `${method} ${pathOnly(path)}`))
    } finally {
      cancel()
      signal?.removeEventListener('abort', onSignal)
      await client.destroy()
    }
  }
}

/** The answer as JSON; undefined = it is none. */
export function jsonOf({ bytes }: ComfyAnswer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}

function faultOf(cause: unknown, call: string): ComfyFault {
  if (errnoOf(cause) === 'ECONNREFUSED') return { kind: 'refused', message: 'cannot be reached', cause }
  return {
    kind: 'lost',
    message: `closed the connection without a proper answer to ${call}: ${messageOf(cause)}`,
    cause,
  }
}

function pathOnly(path: string): string {
  return path.split('?', 1)[0] ?? ''
}
