import type { Exchange } from '../exchange.ts'

/** How the end of an answer is told to the client. `close`: HTTP/1.0 knows no chunks. */
export type Framing = 'length' | 'chunked' | 'close'

const CRLF = '\r\n'
export const LAST_CHUNK: Buffer = Buffer.from('0\r\n\r\n')

/**
 * Writes the head of an answer of unknown length. Its chunks are framed by the caller and not by node, so that those of an engine can pass as
 * they are.
 */
export function beginFraming(exchange: Exchange, status: number, lines: readonly string[]): Framing {
  if (exchange.req.httpVersionMinor === 0) {
    exchange.writeHead(status, lines)
    return 'close'
  }
  exchange.writeHead(status, [...lines, 'Transfer-Encoding', 'chunked'])
  exchange.res.chunkedEncoding = false
  return 'chunked'
}

/** The bytes as one chunk of HTTP, in one piece. */
export function framed(data: Buffer): Buffer {
  const size = data.length.toString(16) + CRLF
  const bytes = Buffer.allocUnsafe(size.length + data.length + CRLF.length)
  bytes.write(size, 0, 'latin1')
  data.copy(bytes, size.length)
  bytes.write(CRLF, size.length + data.length, 'latin1')
  return bytes
}
