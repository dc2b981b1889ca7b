import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Content, readContent, sizeOf } from './content.ts'

/**
 * How a stand-in hub misbehaves at one GET of a file.
 * - `cut`: the connection breaks after so many bytes of the body. `short`, `long`: the body ends cleanly, without a Content-Length, after
 *   so many bytes fewer or more than promised. `stall`: nothing comes after so many bytes, the connection stays.
 * - `ignore_range`: 200 with everything, cut after `cutBytes` if that is given. `say_length`: a Content-Length that is not true.
 *   `range_from`: a Content-Range that begins so many bytes later.
 * - `corrupt`: other bytes. `etag`: another tag for the same bytes. `slow`: pauses between pieces of 64 KiB.
 */
export type Trick =
  | { readonly kind: 'cut' | 'stall' | 'short' | 'long' | 'range_from' | 'say_length'; readonly bytes: number }
  | { readonly kind: 'ignore_range'; readonly cutBytes?: number }
  | { readonly kind: 'corrupt' }
  | { readonly kind: 'etag'; readonly etag: string; readonly cutBytes?: number }
  | { readonly kind: 'status'; readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  | { readonly kind: 'slow'; readonly pauseMs: number }

/** Answers a GET or HEAD of a file as a server of files does, with Range and If-Range, or as the trick says. */
export function sendFile(
  request: IncomingMessage,
  response: ServerResponse,
  content: Content,
  tag: string,
  trick: Trick | undefined,
): void {
  if (trick?.kind === 'status') {
    response.writeHead(trick.status, { ...trick.headers, 'content-length': 0 }).end()
    return
  }
  const sizeBytes = sizeOf(content)
  const etag = `"${trick?.kind === 'etag' ? trick.etag : tag}"`
  const from = rangeStart(request, etag, trick)
  if (from !== null && from >= sizeBytes) {
    response.writeHead(416, { 'content-range': `bytes */${sizeBytes}`, 'content-length': 0 }).end()
    return
  }
  const start = from ?? 0
  const restBytes = sizeBytes - start
  const isClean = trick?.kind === 'short' || trick?.kind === 'long'
  const length = trick?.kind === 'say_length' ? trick.bytes : restBytes
  const shift = trick?.kind === 'range_from' ? trick.bytes : 0
  response.writeHead(from === null ? 200 : 206, {
    etag,
    'accept-ranges': 'bytes',
    ...(isClean ? {} : { 'content-length': length }),
    ...(from === null ? {} : { 'content-range': `bytes ${start + shift}-${sizeBytes - 1}/${sizeBytes}` }),
  })
  if (request.method === 'HEAD') return void response.end()
  void sendBody(response, content, start, sizeBytes, trick)
}

async function sendBody(
  response: ServerResponse,
  content: Content,
  start: number,
  end: number,
  trick: Trick | undefined,
): Promise<void> {
  const breakBytes = breakOf(trick)
  const restBytes = end - start
  const bytes = bytesToSend(restBytes, trick)
  for (const piece of piecesOf(content, start, start + bytes, trick)) {
    if (response.destroyed) return
    if (!response.write(piece)) await drained(response)
    if (trick?.kind === 'slow') await new Promise((resolve) => setTimeout(resolve, trick.pauseMs))
  }
  if (trick?.kind === 'stall') return
  // What was written should arrive before the connection breaks.
  if (breakBytes !== null) return void response.write('', () => setImmediate(() => response.socket?.destroySoon()))
  response.end()
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done)
      resolve()
    }
    response.on('drain', done).on('close', done)
  })
}

function breakOf(trick: Trick | undefined): number | null {
  if (trick?.kind === 'cut') return trick.bytes
  if (trick?.kind === 'ignore_range' || trick?.kind === 'etag') return trick.cutBytes ?? null
  return null
}

function bytesToSend(restBytes: number, trick: Trick | undefined): number {
  const breakBytes = breakOf(trick)
  if (breakBytes !== null) return Math.min(restBytes, breakBytes)
  switch (trick?.kind) {
    case 'stall':
    case 'say_length':
      return Math.min(restBytes, trick.bytes)
    case 'short':
      return restBytes - trick.bytes
    case 'long':
      return restBytes + trick.bytes
    default:
      return restBytes
  }
}

function* piecesOf(content: Content, from: number, to: number, trick: Trick | undefined): Generator<Buffer> {
  for (const piece of readContent(content, from, to)) {
    if (trick?.kind === 'corrupt') yield Buffer.from(piece.map((byte) => byte ^ 1))
    else if (trick?.kind !== 'slow') yield piece
    else for (let at = 0; at < piece.length; at += 65_536) yield piece.subarray(at, at + 65_536)
  }
}

/** Null = the whole file is wanted, or sent anyway. */
function rangeStart(request: IncomingMessage, etag: string, trick: Trick | undefined): number | null {
  const [, from] = /^bytes=(\d+)-$/.exec(request.headers.range ?? '') ?? []
  const condition = request.headers['if-range']
  const isVoid = condition !== undefined && condition !== etag
  return from === undefined || isVoid || trick?.kind === 'ignore_range' ? null : Number(from)
}
