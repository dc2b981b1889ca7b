import type { IncomingMessage } from 'node:http'
import type { BodyFacts } from '../json/body-facts.ts'
import { type ReceiveOptions, receiveJson } from './read-body.ts'

/**
 * `receiveJson` as a promise, for who needs the body in one piece. Rejects with the Hal0Error, or with `signal.reason` when the client
 * leaves. Errors: as `receiveJson`. Source: SPEC 11 "Bodies".
 */
export function readAsked(
  { req, signal }: { readonly req: IncomingMessage; readonly signal: AbortSignal },
  options: ReceiveOptions,
): Promise<{ readonly body: Buffer; readonly asked: BodyFacts; release(): void }> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const onAbort = (): void => {
      receiving.cancel()
      reject(signal.reason)
    }
    signal.addEventListener('abort', onAbort)
    const receiving = receiveJson({ req }, options, (error, json) => {
      signal.removeEventListener('abort', onAbort)
      if (error !== undefined) return reject(error)
      const { pieces, sizeBytes, asked } = json
      const [first = Buffer.alloc(0)] = pieces
      const body = pieces.length === 1 ? first : Buffer.concat(pieces, sizeBytes)
      resolve({ body, asked, release: () => json.release() })
    })
  })
}
