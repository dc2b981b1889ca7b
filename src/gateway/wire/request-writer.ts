import type { Socket } from 'node:net'
import type { BodySink, EngineBody, LiveBody } from '../body/engine-body.ts'

/** A request as it is written. */
export interface WireRequest {
  readonly method: string
  readonly path: string
  /** Names and values in turn; those of the connection itself (`host`, length, coding) are put in here. */
  readonly headers: readonly string[]
  readonly body: EngineBody
}

/** A body up to this size is written together with the head. */
const ONE_WRITE_BYTES = 16 * 1024

/** Writes one request to an engine; a live body follows as it comes, held back by the engine. */
export class RequestWriter implements BodySink {
  readonly #socket: Socket
  readonly #onFailed: (error: Error) => void
  #live: LiveBody | undefined
  #isChunked = false

  /** `onFailed`: the live body will not come to its end. */
  constructor(socket: Socket, onFailed: (error: Error) => void) {
    this.#socket = socket
    this.#onFailed = onFailed
  }

  /** Has all of it left this process? */
  get isSent(): boolean {
    return this.#live === undefined && this.#socket.writableLength === 0
  }

  start(request: WireRequest, hostHeader: string): void {
    const { body } = request
    this.#isChunked = body.kind === 'live' && body.body.sizeBytes === undefined
    const head = headText(request, hostHeader, this.#isChunked)
    const socket = this.#socket
    if (body.kind === 'whole' && body.sizeBytes <= ONE_WRITE_BYTES) {
      let text = head
      for (const piece of body.pieces) text += piece.toString('latin1')
      socket.write(text, 'latin1')
      return
    }
    socket.cork()
    socket.write(head, 'latin1')
    if (body.kind === 'whole') for (const piece of body.pieces) socket.write(piece)
    socket.uncork()
    if (body.kind !== 'live') return
    this.#live = body.body
    body.body.start(this)
  }

  /** The engine takes more again. */
  resume(): void {
    this.#live?.resume()
  }

  /** The engine wants no more of it. */
  stop(): void {
    const live = this.#live
    this.#live = undefined
    live?.stop()
  }

  write(piece: Buffer): boolean {
    if (this.#live === undefined) return false
    if (!this.#isChunked) return this.#socket.write(piece)
    this.#socket.cork()
    this.#socket.write(`${piece.length.toString(16)}\r\n`, 'latin1')
    this.#socket.write(piece)
    const isTaken = this.#socket.write('\r\n', 'latin1')
    this.#socket.uncork()
    return isTaken
  }

  end(): void {
    if (this.#live === undefined) return
    this.#live = undefined
    if (this.#isChunked) this.#socket.write('0\r\n\r\n', 'latin1')
  }

  fail(error: unknown): void {
    if (this.#live === undefined) return
    this.#live = undefined
    this.#onFailed(error instanceof Error ? error : new Error(String(error)))
  }
}

function headText({ method, path, headers, body }: WireRequest, hostHeader: string, isChunked: boolean): string {
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${hostHeader}\r\n`
  for (let at = 0; at < headers.length; at += 2) text += `${headers[at]}: ${headers[at + 1]}\r\n`
  if (isChunked) text += 'transfer-encoding: chunked\r\n'
  else if (body.kind === 'whole') text += `content-length: ${body.sizeBytes}\r\n`
  else if (body.kind === 'live') text += `content-length: ${body.body.sizeBytes}\r\n`
  return `${text}\r\n`
}
