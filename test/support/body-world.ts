import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import type { BodySink, EngineBody } from '../../src/gateway/body/engine-body.ts'

/** A request without a connection: what is pushed into it arrives. */
export function incoming(headers: Readonly<Record<string, string>>): IncomingMessage {
  const req = new IncomingMessage(new Socket())
  req.headers = { ...headers }
  return req
}

export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Lets the pieces arrive, each in a turn of its own, then the end. */
export async function arrive(req: IncomingMessage, pieces: readonly Buffer[], isWhole = true): Promise<void> {
  for (const piece of pieces) {
    req.push(piece)
    await turn()
  }
  if (!isWhole) return
  req.complete = true
  req.push(null)
}

export function inPieces(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0, n = 0; at < bytes.length; n++) {
    const size = Math.max(1, sizes[n % sizes.length] ?? 1)
    pieces.push(Buffer.from(bytes.subarray(at, at + size)))
    at += size
  }
  return pieces
}

/** An engine that takes a body: all at once, or as slowly as `holds` says. */
export class RecordingSink implements BodySink {
  readonly pieces: Buffer[] = []
  readonly over: Promise<'ended' | { readonly failed: unknown }>
  wroteWhileHeld = false
  readonly #holds: (() => void) | undefined
  #isHeld = false
  #settle: (outcome: 'ended' | { readonly failed: unknown }) => void = () => {}

  /** `holds` is called for each piece that is not taken at once; who holds calls `body.resume()` later. */
  constructor(holds?: () => void) {
    this.#holds = holds
    this.over = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  get bytes(): Buffer {
    return Buffer.concat(this.pieces)
  }

  write(piece: Buffer): boolean {
    this.wroteWhileHeld ||= this.#isHeld
    this.pieces.push(piece)
    if (this.#holds === undefined) return true
    this.#isHeld = true
    const release = this.#holds
    setImmediate(() => {
      this.#isHeld = false
      release()
    })
    return false
  }

  end(): void {
    this.#settle('ended')
  }

  fail(error: unknown): void {
    this.#settle({ failed: error })
  }
}

/** All of a body as an engine gets it. `isSlow`: it is held back after each piece. */
export async function taken(
  body: EngineBody,
  isSlow = false,
): Promise<{ readonly bytes: Buffer; readonly outcome: 'ended' | { readonly failed: unknown } }> {
  if (body.kind === 'none') return { bytes: Buffer.alloc(0), outcome: 'ended' }
  if (body.kind === 'whole') return { bytes: Buffer.concat(body.pieces), outcome: 'ended' }
  const live = body.body
  const sink = new RecordingSink(isSlow ? () => live.resume() : undefined)
  live.start(sink)
  const outcome = await sink.over
  if (sink.wroteWhileHeld) throw new Error('the body was written while the engine held it back')
  return { bytes: sink.bytes, outcome }
}
