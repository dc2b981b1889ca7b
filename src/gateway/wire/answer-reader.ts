import { type AnswerHead, HEAD_LIMIT_BYTES, headOf } from './answer-head.ts'
import { ChunkReader, type ChunkTaker } from './chunk-reader.ts'

/** Takes an answer as it comes. */
export interface AnswerTaker extends ChunkTaker {
  onHead(head: AnswerHead): void
}

/** `more`: the answer goes on. `done`: it is complete; `isClean`: nothing came behind it. `fault`: it is no HTTP. */
export type ReadStep =
  | { readonly kind: 'more' }
  | { readonly kind: 'done'; readonly isClean: boolean }
  | { readonly kind: 'fault'; readonly what: string }

const MORE: ReadStep = { kind: 'more' }
const NOTHING = Buffer.alloc(0)
const BEGIN = 'HTTP/1.'

/** Reads one answer of an engine, in pieces: interim heads, the head, the body. Source: RFC 9112. */
export class AnswerReader {
  readonly #method: string
  #headBytes: Buffer = NOTHING
  #head: AnswerHead | undefined
  #left = 0
  #chunks: ChunkReader | undefined
  /** Something of the body has come. */
  hasBody = false

  /** `method`: of the request; an answer to HEAD has no body. */
  constructor(method: string) {
    this.#method = method
  }

  /** Does the answer end with the connection? */
  get endsWithConnection(): boolean {
    return this.#head?.framing.kind === 'close'
  }

  /** The engine says that the connection has a future. */
  get keepsAlive(): boolean {
    return this.#head?.keepsAlive === true
  }

  /** How long the engine promises to keep the connection unused, seconds; undefined = it does not say. */
  get keepsForS(): number | undefined {
    return this.#head?.keepsForS
  }

  /** `bytes` are valid for this call only. `isMoreAtHand`: the piece was as long as a read can be. */
  push(bytes: Buffer, isMoreAtHand: boolean, taker: AnswerTaker): ReadStep {
    if (this.#head !== undefined) return this.#readBody(bytes, isMoreAtHand, taker)
    let all = this.#headBytes.length === 0 ? bytes : Buffer.concat([this.#headBytes, bytes])
    for (;;) {
      const end = all.indexOf('\r\n\r\n', 0, 'latin1')
      if (end < 0 || end > HEAD_LIMIT_BYTES) {
        if (all.length > HEAD_LIMIT_BYTES) return fault('an answer with an endless head')
        // What will never be HTTP need not be waited for.
        if (!BEGIN.startsWith(all.toString('latin1', 0, BEGIN.length))) {
          return fault('an answer that does not begin as HTTP')
        }
        if (all.includes('\n\n', 0, 'latin1')) return fault('a head that ends in bare line feeds')
        this.#headBytes = Buffer.from(all)
        return MORE
      }
      const head = headOf(all.toString('latin1', 0, end), this.#method)
      this.#headBytes = NOTHING
      if (typeof head === 'string') return fault(head)
      all = all.subarray(end + 4)
      if (head.status === 101) return fault('a change of protocol that nobody asked for')
      if (head.status >= 200) {
        this.#begin(head, taker)
        return this.#readBody(all, isMoreAtHand, taker)
      }
    }
  }

  /** Is something of the answer held back? */
  get isHolding(): boolean {
    return this.#chunks?.isHolding === true
  }

  /** Nothing more is at hand, or the answer has broken off: what is held back of it is given. */
  letGo(taker: AnswerTaker): void {
    this.#chunks?.letGo(taker)
  }

  #begin(head: AnswerHead, taker: AnswerTaker): void {
    const { framing } = head
    this.#head = head
    this.#left = framing.kind === 'length' ? framing.bytes : framing.kind === 'none' ? 0 : Number.POSITIVE_INFINITY
    if (framing.kind === 'chunked') this.#chunks = new ChunkReader()
    taker.onHead(head)
  }

  #readBody(bytes: Buffer, isMoreAtHand: boolean, taker: AnswerTaker): ReadStep {
    if (bytes.length > 0) this.hasBody = true
    if (this.#chunks !== undefined) {
      if (bytes.length === 0) return MORE
      const step = this.#chunks.push(bytes, isMoreAtHand, taker)
      if (typeof step === 'string') return fault(step)
      return step.kind === 'more' ? MORE : { kind: 'done', isClean: step.at === bytes.length }
    }
    const data = bytes.length > this.#left ? bytes.subarray(0, this.#left) : bytes
    this.#left -= data.length
    if (data.length > 0) taker.onData(data)
    return this.#left > 0 ? MORE : { kind: 'done', isClean: data.length === bytes.length }
  }
}

function fault(what: string): ReadStep {
  return { kind: 'fault', what }
}
