import type { IncomingMessage } from 'node:http'
import type { Hal0Error } from '../../../kernel/errors.ts'
import { badForm, tooLarge } from '../body-errors.ts'
import type { ClientSilence } from '../client-silence.ts'
import type { EngineBody } from '../engine-body.ts'
import { type LiveCheck, RequestBody } from '../live-body.ts'
import type { FormModel } from './form-fields.ts'
import type { FormScanner } from './form-scanner.ts'
import type { KeptForm } from './kept-form.ts'
import { type BodyEdit, edited, StreamSplice } from './stream-splice.ts'

/** What is known of a form when it can be sent on. */
export interface FormAsked {
  /** Undefined = the whole form came and names none. */
  readonly model: FormModel | undefined
  /** As far as it came before or with the model. */
  readonly stream: boolean
}

/** A form of which enough has come to know where it goes; the rest waits at the client's socket. */
export interface FormBody {
  readonly asked: FormAsked
  /**
   * The form with the engine's name for its model: the bytes of the value are replaced, or a part is put in before the end. `whole` where all of it is
   * in memory; such a body may be asked for again, a `live` one is asked for once.
   */
  engineBody(alias: string): EngineBody
  /** Stops it and gives back memory and file, however the request ended. Idempotent. */
  release(): void
}

export interface FormParts {
  readonly req: IncomingMessage
  readonly boundary: string
  readonly kept: KeptForm
  /** Has seen what was kept. */
  readonly scanner: FormScanner
  readonly limitBytes: number
  /** All of it has come. */
  readonly isOver: boolean
  readonly announcedBytes: number | undefined
  readonly silence: ClientSilence | undefined
}

/** Source: SPEC 11 "multipart is streamed, `model` may come after the file". */
export class ReceivedForm implements FormBody {
  readonly asked: FormAsked
  readonly #parts: FormParts
  #live: RequestBody | undefined

  constructor(parts: FormParts) {
    this.#parts = parts
    const { model, stream } = parts.scanner
    this.asked = { model, stream }
  }

  engineBody(alias: string): EngineBody {
    const { req, kept, isOver, announcedBytes, silence } = this.#parts
    const edit = this.#edit(alias)
    const grownBytes = edit.bytes.length - (edit.end - edit.start)
    const { inMemory } = kept
    if (isOver && inMemory !== undefined) {
      const pieces = new StreamSplice(edit).apply(inMemory)
      return { kind: 'whole', pieces, sizeBytes: kept.sizeBytes + grownBytes, holder: this }
    }
    if (this.#live !== undefined) throw new Error('a form can be sent once')
    const baseBytes = isOver ? kept.sizeBytes : announcedBytes
    this.#live = new RequestBody(req, {
      sizeBytes: baseBytes === undefined ? undefined : baseBytes + grownBytes,
      kept: edited(kept.reader(), edit),
      isOver,
      check: isOver ? undefined : this.#check(),
      silence,
    })
    return { kind: 'live', body: this.#live }
  }

  release(): void {
    this.#live?.stop()
    this.#parts.kept.close()
  }

  #edit(alias: string): BodyEdit {
    const { scanner, boundary } = this.#parts
    const name = Buffer.from(alias)
    if (scanner.model !== undefined) return { start: scanner.model.start, end: scanner.model.end, bytes: name }
    const { closeAt = 0 } = scanner
    const part = `--${boundary}\r\nContent-Disposition: form-data; name="model"\r\n\r\n`
    // A form that begins with its end has no line break before it.
    const [before, behind] = closeAt < 0 ? ['', '\r\n'] : ['\r\n', '']
    const at = Math.max(0, closeAt)
    return { start: at, end: at, bytes: Buffer.concat([Buffer.from(before + part), name, Buffer.from(behind)]) }
  }

  /** What still comes has to be the rest of this form, and not too much of it. */
  #check(): LiveCheck {
    const { scanner, kept, limitBytes } = this.#parts
    let sizeBytes = kept.sizeBytes
    return {
      push(piece): Hal0Error | undefined {
        sizeBytes += piece.length
        if (sizeBytes > limitBytes) return tooLarge(limitBytes, 'form_limit_bytes')
        const fault = scanner.push(piece)
        return fault === undefined ? undefined : badForm(fault.offset, fault.expected)
      },
      end() {
        const fault = scanner.end()
        return fault === undefined ? undefined : badForm(fault.offset, fault.expected)
      },
    }
  }
}
