import type { IncomingMessage } from 'node:http'
import { Hal0Error } from '../../../kernel/errors.ts'
import { announcedBytes, badForm, refusedEncoding, silentClient, tooLarge } from '../body-errors.ts'
import type { ClientSilence, Sender } from '../client-silence.ts'
import type { Receiving } from '../read-body.ts'
import { boundaryOf } from './boundary.ts'
import { type FormBody, ReceivedForm } from './form-body.ts'
import { type FormFault, FormScanner } from './form-scanner.ts'
import { type KeepOptions, KeptForm } from './kept-form.ts'

export interface ReceiveFormOptions extends KeepOptions {
  /** A longer form is refused, or broken off where its length shows only later. */
  readonly limitBytes: number
  /** Absent = a client may take any time. */
  readonly silence?: ClientSilence | undefined
}

/** Called once, unless the receiving was cancelled: with an error or with a form. */
export type FormTaker = (...outcome: [error: Hal0Error, form: undefined] | [error: undefined, form: FormBody]) => void

/**
 * Reads a form until it is known which model it asks for, or until it ends; then the client is held back. Calls back at once for what the headers
 * rule out. Whoever sees the client leave cancels. Errors: `request.too_large` (at once when Content-Length says so), `request.invalid` (compressed,
 * no boundary, malformed or cut off, with the byte; 408 by `statusOfBodyError` when the client fell silent), `dispatch.queue_full` (no room in
 * the folder for what comes before the model, beside that of others), `internal` (the file system has none).
 * What is wrong with the part that comes later fails the sink of the engine's body. Source: SPEC 11 "Bodies".
 */
export function receiveForm(
  { req }: { readonly req: IncomingMessage },
  options: ReceiveFormOptions,
  done: FormTaker,
): Receiving {
  return new FormReceiver(req, options, done)
}

class FormReceiver implements Receiving, Sender {
  place = -1
  quietLooks = 0
  freshBytes = 0
  readonly #req: IncomingMessage
  readonly #options: ReceiveFormOptions
  readonly #done: FormTaker
  readonly #announcedBytes: number | undefined
  readonly #boundary: string
  readonly #scanner: FormScanner
  readonly #kept: KeptForm
  #sizeBytes = 0
  /** A piece is on its way to the disk. */
  #isWriting = false
  #hasEnded = false
  #isOver = false

  constructor(req: IncomingMessage, options: ReceiveFormOptions, done: FormTaker) {
    this.#req = req
    this.#options = options
    this.#done = done
    this.#announcedBytes = announcedBytes(req)
    this.#kept = new KeptForm(options)
    const boundary = boundaryOf(req.headers['content-type'])
    this.#boundary = boundary ?? ''
    this.#scanner = new FormScanner(this.#boundary)
    const refused = this.#refusal(boundary)
    if (refused !== undefined) {
      this.#fail(refused)
      return
    }
    options.silence?.watch(this)
    req.on('data', this.#onData)
    req.on('end', this.#onEnd)
  }

  cancel(): void {
    if (this.#isOver) return
    this.#stop()
    this.#kept.close()
  }

  onSilent(limitMs: number): void {
    this.#fail(silentClient(limitMs))
  }

  #refusal(boundary: string | undefined): Hal0Error | undefined {
    const refused = refusedEncoding(this.#req)
    if (refused !== undefined) return refused
    if (boundary === undefined) {
      return Hal0Error.of(
        'request.invalid',
        'This route takes a form: expected Content-Type multipart/form-data with a boundary',
        {
          param: 'Content-Type',
        },
      )
    }
    const { limitBytes } = this.#options
    return (this.#announcedBytes ?? 0) > limitBytes ? tooLarge(limitBytes, 'form_limit_bytes') : undefined
  }

  readonly #onData = (piece: Buffer): void => {
    if (this.#isOver) return
    this.freshBytes += piece.length
    this.#sizeBytes += piece.length
    const { limitBytes } = this.#options
    if (this.#sizeBytes > limitBytes) return this.#fail(tooLarge(limitBytes, 'form_limit_bytes'))
    const fault = this.#scanner.push(piece)
    if (fault !== undefined) return this.#faulty(fault)
    const kept = this.#kept.push(piece, this.#onWritten)
    if (kept instanceof Hal0Error) return this.#fail(kept)
    if (kept === 'kept') return void this.#look()
    // The disk is slower than the client.
    this.#isWriting = true
    this.#req.pause()
    this.#options.silence?.forget(this)
  }

  readonly #onWritten = (error: Hal0Error | undefined): void => {
    if (this.#isOver) return
    this.#isWriting = false
    if (error !== undefined) return this.#fail(error)
    if (this.#look()) return
    this.#options.silence?.watch(this)
    this.#req.resume()
  }

  /** Is enough known to go on? */
  #look(): boolean {
    if (this.#isOver) return true
    // The last bytes have come, whenever 'end' does.
    if (this.#hasEnded || this.#sizeBytes === this.#announcedBytes) this.#onEnd()
    else if (this.#scanner.model !== undefined) this.#succeed(false)
    return this.#isOver
  }

  readonly #onEnd = (): void => {
    if (this.#isOver) return
    // A stream that is paused says 'end' all the same when nothing is left in it.
    if (this.#isWriting) {
      this.#hasEnded = true
      return
    }
    const fault = this.#scanner.end()
    if (fault !== undefined) return this.#faulty(fault)
    this.#succeed(true)
  }

  #succeed(isOver: boolean): void {
    this.#stop()
    // Held back at its socket; or let come to its 'end'.
    if (isOver) this.#req.resume()
    else this.#req.pause()
    this.#done(
      undefined,
      new ReceivedForm({
        req: this.#req,
        boundary: this.#boundary,
        kept: this.#kept,
        scanner: this.#scanner,
        limitBytes: this.#options.limitBytes,
        isOver,
        announcedBytes: this.#announcedBytes,
        silence: this.#options.silence,
      }),
    )
  }

  #faulty({ offset, expected }: FormFault): void {
    this.#fail(badForm(offset, expected))
  }

  #fail(error: Hal0Error): void {
    if (this.#isOver) return
    this.#stop()
    this.#kept.close()
    this.#done(error, undefined)
  }

  #stop(): void {
    this.#isOver = true
    this.#options.silence?.forget(this)
    this.#req.off('data', this.#onData)
    this.#req.off('end', this.#onEnd)
  }
}
