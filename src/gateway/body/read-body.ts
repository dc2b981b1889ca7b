import type { IncomingMessage } from 'node:http'
import { Hal0Error } from '../../kernel/errors.ts'
import type { BodyFacts } from '../json/body-facts.ts'
import type { ScanFault } from '../json/json-scanner.ts'
import { BodyScan, scanBody } from '../json/scan-body.ts'
import type { BodyBudget } from './body-budget.ts'
import { announcedBytes, badJson, refusedEncoding, silentClient } from './body-errors.ts'
import type { ClientSilence, Sender } from './client-silence.ts'
import { MemoryShare } from './memory-share.ts'
import { PieceList } from './piece-list.ts'

export interface ReceiveOptions {
  /** A longer body is refused. */
  readonly limitBytes: number
  /** Absent = as much memory as it takes. */
  readonly budget?: BodyBudget | undefined
  /** Absent = a client may take any time. */
  readonly silence?: ClientSilence | undefined
}

/** A JSON object that has come completely. */
export interface JsonBody {
  /** Without a byte order mark. */
  readonly pieces: readonly Buffer[]
  readonly sizeBytes: number
  readonly asked: BodyFacts
  /** Gives its memory back to the budget: once the request needs it no more, however it ended. Idempotent. */
  release(): void
}

/** Called once, unless the receiving was cancelled: with an error or with a body. */
export type JsonTaker = (...outcome: [error: Hal0Error, body: undefined] | [error: undefined, body: JsonBody]) => void

/** Something that goes on until it calls back. */
export interface Receiving {
  /** Ends it without a word; what was held is given back. Idempotent. */
  cancel(): void
}

const BOM_FIRST = 0xef
/** After so much work in one go other requests get their turn, ms. */
const TURN_MS = 2

/**
 * Reads a JSON body and what it asks for; it is looked at while it comes, so that a mistake ends it early. Calls back at once for what the
 * headers rule out, and within the last 'data' for a body that comes in one piece. Whoever sees the client leave cancels.
 * Errors: `request.too_large` (at once when Content-Length says so), `request.invalid` (compressed, empty, no JSON object, `model` no
 * string; 408 by `statusOfBodyError` when the client fell silent), `dispatch.queue_full` (no memory for it: at once, or when it is gone while it comes). Source: SPEC 11 "Bodies".
 */
export function receiveJson(
  { req }: { readonly req: IncomingMessage },
  options: ReceiveOptions,
  done: JsonTaker,
): Receiving {
  return new JsonReceiver(req, options, done)
}

class JsonReceiver implements Receiving, Sender, JsonBody {
  place = -1
  quietLooks = 0
  freshBytes = 0
  pieces: readonly Buffer[] = []
  sizeBytes = 0
  readonly #req: IncomingMessage
  readonly #options: ReceiveOptions
  readonly #done: JsonTaker
  readonly #announcedBytes: number | undefined
  readonly #share: MemoryShare
  #isOver = false
  /** Both from the first piece on that is not the whole body. */
  #list: PieceList | undefined
  #scan: BodyScan | undefined
  #asked: BodyFacts | undefined
  #busyMs = 0
  #turn: NodeJS.Immediate | undefined

  constructor(req: IncomingMessage, options: ReceiveOptions, done: JsonTaker) {
    this.#req = req
    this.#options = options
    this.#done = done
    this.#announcedBytes = announcedBytes(req)
    this.#share = new MemoryShare(options.limitBytes, options.budget, this.#announcedBytes)
    const refused = refusedEncoding(req) ?? this.#share.refuse(this.#announcedBytes ?? 0)
    if (refused !== undefined) {
      this.#fail(refused)
      return
    }
    options.silence?.watch(this)
    req.on('data', this.#onData)
    req.on('end', this.#onEnd)
  }

  get asked(): BodyFacts {
    if (this.#asked === undefined) throw new Error('a body is asked before it came')
    return this.#asked
  }

  release(): void {
    this.#share.giveBack()
    this.pieces = []
  }

  cancel(): void {
    if (this.#isOver) return
    this.#stop()
    this.release()
  }

  onSilent(limitMs: number): void {
    this.#fail(silentClient(limitMs))
  }

  readonly #onData = (piece: Buffer): void => {
    if (this.#isOver) return
    this.freshBytes += piece.length
    this.sizeBytes += piece.length
    const refused = this.#share.growTo(this.sizeBytes)
    if (refused !== undefined) return this.#fail(refused)
    if (this.#list === undefined && this.sizeBytes === this.#announcedBytes) this.#whole(piece)
    else this.#part(piece)
  }

  /** A body in one piece, which is neither copied nor waited for any longer. */
  #whole(piece: Buffer): void {
    const text = piece[0] === BOM_FIRST && piece[1] === 0xbb && piece[2] === 0xbf ? piece.subarray(3) : piece
    const scanned = scanBody(piece)
    if (!scanned.ok) return this.#fail(badJson(scanned.error, text))
    this.pieces = [text]
    this.sizeBytes = text.length
    this.#succeed(scanned.value)
  }

  #part(piece: Buffer): void {
    this.#list ??= new PieceList()
    this.#scan ??= new BodyScan()
    this.#list.push(piece)
    const begunMs = performance.now()
    const fault = this.#scan.push(piece)
    if (fault !== undefined) return this.#fail(this.#faultError(fault))
    this.#busyMs += performance.now() - begunMs
    if (this.#busyMs >= TURN_MS) this.#giveTurn()
  }

  /** A fast sender would be read without a pause: libuv takes several pieces in one go. */
  #giveTurn(): void {
    this.#busyMs = 0
    if (this.#turn !== undefined) return
    this.#req.pause()
    this.#turn = setImmediate(() => {
      this.#turn = undefined
      this.#req.resume()
    })
  }

  readonly #onEnd = (): void => {
    if (this.#isOver) return
    if (this.#list === undefined || this.#scan === undefined) {
      return this.#fail(Hal0Error.of('request.invalid', 'The request body is empty; a JSON object was expected'))
    }
    const scanned = this.#scan.end()
    if (!scanned.ok) return this.#fail(this.#faultError(scanned.error))
    const { bomBytes } = this.#scan
    this.pieces = behind(this.#list.pieces(), bomBytes)
    this.sizeBytes -= bomBytes
    this.#list = undefined
    this.#succeed(scanned.value)
  }

  #faultError(fault: ScanFault): Hal0Error {
    const bomBytes = this.#scan?.bomBytes ?? 0
    const head = this.#list?.head(bomBytes + fault.offset + 1) ?? Buffer.alloc(0)
    return badJson(fault, head.subarray(bomBytes))
  }

  #succeed(asked: BodyFacts): void {
    if (asked.model.kind === 'other') {
      return this.#fail(Hal0Error.of('request.invalid', 'The field "model" is not a string', { param: 'model' }))
    }
    this.#asked = asked
    this.#isOver = true
    this.#options.silence?.forget(this)
    this.#done(undefined, this)
  }

  #fail(error: Hal0Error): void {
    if (this.#isOver) return
    this.#stop()
    this.release()
    this.#done(error, undefined)
  }

  /** What still comes is nobody's. */
  #stop(): void {
    this.#isOver = true
    this.#list = undefined
    this.#options.silence?.forget(this)
    if (this.#turn !== undefined) clearImmediate(this.#turn)
    this.#req.off('data', this.#onData)
    this.#req.off('end', this.#onEnd)
  }
}

/** What stands behind the first `skipBytes`. */
function behind(pieces: readonly Buffer[], skipBytes: number): readonly Buffer[] {
  let skip = skipBytes
  return pieces.flatMap((piece) => {
    const rest = piece.subarray(skip)
    skip = Math.max(0, skip - piece.length)
    return rest.length === 0 ? [] : [rest]
  })
}
