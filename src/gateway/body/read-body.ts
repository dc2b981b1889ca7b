import type { IncomingMessage } from 'node:http'
import { Hal0Error } from '../../kernel/errors.ts'
import { MIB } from '../../kernel/units.ts'
import { GrowingBuffer } from './growing-buffer.ts'

export interface ReadBodyOptions {
  readonly limitBytes: number
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal
  /** Sees each piece as it comes; `soFar` holds all that came, this piece included. What it throws ends the reading. */
  readonly look: (piece: Buffer, soFar: () => Buffer) => void
}

/** After so many bytes other requests get their turn; to look at them takes a few ms at most. */
const TURN_BYTES = 256 * 1024

/**
 * The request's whole body. Rejects with `signal.reason` when the client leaves while sending, and with what `look` throws.
 * Errors: `request.too_large` (at once when Content-Length says so), `request.invalid` (compressed, or empty).
 */
export async function readBody(req: IncomingMessage, options: ReadBodyOptions): Promise<Buffer> {
  refuseCodings(req)
  const { limitBytes } = options
  const announced = req.headers['content-length']
  const expectedBytes = announced === undefined ? undefined : Number(announced)
  if (expectedBytes !== undefined && expectedBytes > limitBytes) throw tooLarge(limitBytes)
  const body = await collect(req, new GrowingBuffer(expectedBytes), options)
  if (body.length === 0) throw Hal0Error.of('request.invalid', 'The request body is empty; a JSON object was expected')
  return body
}

/** A body that is coded in any way would be taken for its text. Source: RFC 9112 6.1, RFC 9110 8.4. */
function refuseCodings(req: IncomingMessage): void {
  const encoding = req.headers['content-encoding']
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity') {
    throw Hal0Error.of(
      'request.invalid',
      `The request body is compressed (Content-Encoding: ${encoding}); send it uncompressed`,
    )
  }
  const transfer = req.headers['transfer-encoding']
  if (transfer !== undefined && transfer.trim().toLowerCase() !== 'chunked') {
    throw Hal0Error.of('request.invalid', `The transfer coding "${transfer}" is not understood here; use chunked alone`)
  }
}

function collect(req: IncomingMessage, body: GrowingBuffer, options: ReadBodyOptions): Promise<Buffer> {
  const { limitBytes, signal, look } = options
  const soFar = (): Buffer => body.view()
  return new Promise((resolve, reject) => {
    let sinceTurnBytes = 0
    let turn: NodeJS.Immediate | undefined
    const stop = (): void => {
      if (turn !== undefined) clearImmediate(turn)
      req.off('data', onData)
      req.off('end', onEnd)
      signal.removeEventListener('abort', onAbort)
    }
    const fail = (reason: unknown): void => {
      stop()
      reject(reason)
    }
    const onData = (piece: Buffer): void => {
      if (body.sizeBytes + piece.length > limitBytes) return fail(tooLarge(limitBytes))
      body.push(piece)
      try {
        look(piece, soFar)
      } catch (thrown) {
        return fail(thrown)
      }
      sinceTurnBytes += piece.length
      if (sinceTurnBytes < TURN_BYTES || turn !== undefined) return
      // A fast sender would be read without a pause: libuv takes several pieces in one go.
      sinceTurnBytes = 0
      req.pause()
      turn = setImmediate(() => {
        turn = undefined
        req.resume()
      })
    }
    const onEnd = (): void => {
      stop()
      resolve(soFar())
    }
    const onAbort = (): void => fail(signal.reason)
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
