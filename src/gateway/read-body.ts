import type { IncomingMessage } from 'node:http'
import { Hal0Error } from '../kernel/errors.ts'
import { MIB } from '../kernel/units.ts'

/**
 * The request's whole body. Rejects with `signal.reason` when the client leaves while sending.
 * Errors: `request.too_large` (at once when Content-Length says so), `request.invalid` (compressed, or empty).
 */
export async function readBody(req: IncomingMessage, limitBytes: number, signal: AbortSignal): Promise<Buffer> {
  const encoding = req.headers['content-encoding']
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity') {
    throw Hal0Error.of(
      'request.invalid',
      `The request body is compressed (Content-Encoding: ${encoding}); send it uncompressed`,
    )
  }
  if (Number(req.headers['content-length'] ?? 0) > limitBytes) throw tooLarge(limitBytes)
  const body = await collect(req, limitBytes, signal)
  if (body.length === 0) throw Hal0Error.of('request.invalid', 'The request body is empty; a JSON object was expected')
  return body
}

function collect(req: IncomingMessage, limitBytes: number, signal: AbortSignal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let sizeBytes = 0
    const stop = (): void => {
      req.off('data', onData)
      req.off('end', onEnd)
      signal.removeEventListener('abort', onAbort)
    }
    const onData = (chunk: Buffer): void => {
      sizeBytes += chunk.length
      if (sizeBytes <= limitBytes) {
        chunks.push(chunk)
        return
      }
      stop()
      reject(tooLarge(limitBytes))
    }
    const onEnd = (): void => {
      stop()
      const [only] = chunks
      resolve(chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, sizeBytes))
    }
    const onAbort = (): void => {
      stop()
      reject(signal.reason)
    }
    if (signal.aborted) return onAbort()
    signal.addEventListener('abort', onAbort)
    req.on('data', onData)
    req.on('end', onEnd)
  })
}

function tooLarge(limitBytes: number): Hal0Error {
  const limit = limitBytes >= MIB ? `${Math.floor(limitBytes / MIB)} MiB` : `${limitBytes} bytes`
  return Hal0Error.of('request.too_large', `The request body is larger than ${limit}`, {
    details: { limit_bytes: limitBytes },
  })
}
