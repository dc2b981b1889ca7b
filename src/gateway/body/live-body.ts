import type { IncomingMessage } from 'node:http'
import type { Hal0Error } from '../../kernel/errors.ts'
import { announcedBytes, brokenOff, refusedTransfer, silentClient } from './body-errors.ts'
import type { ClientSilence, Sender } from './client-silence.ts'
import type { BodySink, LiveBody } from './engine-body.ts'

/** What came before the live part, given piece by piece. */
export interface KeptPart {
  /** Calls back at once or later, with the next pieces; none = that was all. Not called again before it called back. */
  next(take: (error: unknown, pieces: readonly Buffer[]) => void): void
  /** Idempotent. */
  close(): void
}

/** Looks at what arrives; an error ends the body. */
export interface LiveCheck {
  push(piece: Buffer): Hal0Error | undefined
  end(): Hal0Error | undefined
}

export interface LiveParts {
  /** Exact; undefined = not known. */
  readonly sizeBytes: number | undefined
  readonly kept?: KeptPart | undefined
  /** Nothing comes behind what was kept. */
  readonly isOver?: boolean
  readonly check?: LiveCheck | undefined
  readonly silence?: ClientSilence | undefined
}

/**
 * A request's body as it arrives, byte for byte: for `/upstream`. Held back when the engine is, at the client's own socket; a client that leaves,
 * or falls silent for too long (`silence`), fails it. Errors (thrown): `request.invalid` for a transfer coding besides chunked. Source: SPEC 11.
 */
export function liveBodyOf(req: IncomingMessage, silence?: ClientSilence): LiveBody {
  const refused = refusedTransfer(req)
  if (refused !== undefined) throw refused
  const hasBody = req.headers['transfer-encoding'] !== undefined
  return new RequestBody(req, { sizeBytes: announcedBytes(req) ?? (hasBody ? undefined : 0), silence })
}

/** What was kept, then what still arrives. */
export class RequestBody implements LiveBody, Sender {
  place = -1
  quietLooks = 0
  freshBytes = 0
  readonly sizeBytes: number | undefined
  readonly #req: IncomingMessage
  readonly #parts: LiveParts
  #kept: KeptPart | undefined
  #sink: BodySink | undefined
  /** Of what was kept, the next to be given. */
  #queue: Buffer[] = []
  #isHeld = false
  #isReading = false
  #isLive = false
  #isOver = false

  constructor(req: IncomingMessage, parts: LiveParts) {
    this.#req = req
    this.#parts = parts
    this.#kept = parts.kept
    this.sizeBytes = parts.sizeBytes
  }

  start(sink: BodySink): void {
    if (this.#isOver) return
    this.#sink = sink
    if (this.#parts.isOver !== true) {
      if (this.#req.destroyed && !this.#req.readableEnded) return this.#fail(brokenOff())
      this.#req.on('close', this.#onClose)
    }
    this.#pump()
  }

  resume(): void {
    if (this.#isOver || !this.#isHeld) return
    this.#isHeld = false
    if (!this.#isLive) return this.#pump()
    // The engine took what it had sent.
    this.quietLooks = 0
    this.#parts.silence?.watch(this)
    this.#req.resume()
  }

  stop(): void {
    if (this.#isOver) return
    this.#finish()
    if (this.#parts.isOver !== true) this.#req.resume()
  }

  onSilent(limitMs: number): void {
    this.#fail(silentClient(limitMs))
  }

  /** Gives what was kept, as far as the engine takes it. */
  #pump(): void {
    for (;;) {
      if (this.#isOver || this.#isHeld || this.#isReading) return
      const piece = this.#queue.shift()
      if (piece !== undefined) {
        // An empty chunk would be the end of a body that is sent in chunks.
        if (piece.length > 0 && this.#sink?.write(piece) === false) this.#isHeld = true
      } else if (this.#kept === undefined) return this.#goLive()
      else this.#readKept(this.#kept)
    }
  }

  #readKept(kept: KeptPart): void {
    this.#isReading = true
    let isLater = false
    kept.next((error, pieces) => {
      this.#isReading = false
      if (this.#isOver) return
      if (error !== undefined) return this.#fail(error)
      if (pieces.length === 0) {
        kept.close()
        this.#kept = undefined
      }
      this.#queue = [...pieces]
      if (isLater) this.#pump()
    })
    isLater = true
  }

  #goLive(): void {
    if (this.#parts.isOver === true || this.#req.readableEnded) {
      this.#finish()
      this.#sink?.end()
      return
    }
    this.#isLive = true
    this.#parts.silence?.watch(this)
    this.#req.on('data', this.#onData)
    this.#req.on('end', this.#onEnd)
    // What was paused on purpose does not flow by itself.
    this.#req.resume()
  }

  readonly #onData = (piece: Buffer): void => {
    this.freshBytes += piece.length
    const error = this.#parts.check?.push(piece)
    if (error !== undefined) return this.#fail(error)
    if (this.#sink?.write(piece) !== false || this.#isOver) return
    this.#isHeld = true
    this.#parts.silence?.forget(this)
    this.#req.pause()
  }

  readonly #onEnd = (): void => {
    const error = this.#parts.check?.end()
    if (error !== undefined) return this.#fail(error)
    this.#finish()
    this.#sink?.end()
  }

  readonly #onClose = (): void => {
    if (!this.#req.readableEnded) this.#fail(brokenOff())
  }

  #fail(error: unknown): void {
    if (this.#isOver) return
    this.#finish()
    if (this.#parts.isOver !== true) this.#req.resume()
    this.#sink?.fail(error)
  }

  #finish(): void {
    this.#isOver = true
    this.#kept?.close()
    this.#kept = undefined
    this.#queue = []
    this.#parts.silence?.forget(this)
    this.#req.off('data', this.#onData)
    this.#req.off('end', this.#onEnd)
    this.#req.off('close', this.#onClose)
  }
}
