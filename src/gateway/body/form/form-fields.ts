/** The value of the field `model`; offsets in bytes from the start of the body, `end` exclusive. */
export interface FormModel {
  readonly start: number
  readonly end: number
  readonly value: string
}

const MAX_MODEL_BYTES = 4 * 1024
const MODEL_RULE = `a model name of at most ${MAX_MODEL_BYTES} bytes of valid UTF-8`

/** Keeps the few values of a form that are asked for, as its parts come one after the other. Wherever it answers: what was expected instead. */
export class FormFields {
  /** Undefined = it has not come. */
  model: FormModel | undefined
  stream = false
  #field: 'model' | 'stream' | undefined
  /** Offset of the part's first byte. */
  #start = 0
  #pieces: Buffer[] = []
  #sizeBytes = 0

  /** A part begins, its content at `start`. A form names its model once, as text. */
  begin(name: string, isFile: boolean, start: number): string | undefined {
    this.#field = name === 'model' || name === 'stream' ? name : undefined
    this.#start = start
    if (name !== 'model') return undefined
    if (isFile) return 'the field "model" as text, not as a file'
    return this.model === undefined ? undefined : 'one field "model" only'
  }

  /** Some of the part's content. */
  push(bytes: Buffer): void {
    if (this.#field === undefined) return
    this.#sizeBytes += bytes.length
    // What is too long is refused, or not looked at.
    if (this.#sizeBytes <= MAX_MODEL_BYTES) this.#pieces.push(Buffer.from(bytes))
  }

  /** Is the value too long by now? */
  tooLong(): string | undefined {
    return this.#field === 'model' && this.#sizeBytes > MAX_MODEL_BYTES ? MODEL_RULE : undefined
  }

  /** The part's content ends before `end`. */
  end(end: number): string | undefined {
    const field = this.#field
    if (field === undefined) return undefined
    const value = this.#sizeBytes > MAX_MODEL_BYTES ? undefined : decoded(Buffer.concat(this.#pieces))
    this.#field = undefined
    this.#pieces = []
    this.#sizeBytes = 0
    if (field === 'stream') this.stream = value === 'true' || value === 'True' || value === '1'
    else if (value === undefined) return MODEL_RULE
    else this.model = { start: this.#start, end, value }
    return undefined
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decoded(bytes: Buffer): string | undefined {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}
