// Reads HTTP/1.1 answers from the bytes of a socket: just what the bench needs, and little work for a byte.

/** @typedef {{ onData?: (payload: Buffer) => void, onEnd: (status: number) => void }} To What becomes of one answer. */

export class AnswerReader {
  /** @type {To | undefined} */
  #to
  #status = 0
  /** @type {'head' | 'body' | 'size' | 'chunk' | 'trailer' | 'until_close'} */
  #state = 'head'
  #left = 0
  #line = ''
  /** @type {Buffer | undefined} */
  #rest

  /** The next answer goes to. @param {To} to */
  expect(to) {
    this.#to = to
    this.#state = 'head'
  }

  get isBusy() {
    return this.#to !== undefined
  }

  /** @param {Buffer} bytes */
  push(bytes) {
    let data = bytes
    if (this.#rest !== undefined) {
      data = Buffer.concat([this.#rest, bytes])
      this.#rest = undefined
    }
    let at = 0
    while (at < data.length && this.#to !== undefined) {
      if (this.#state === 'head') {
        const end = data.indexOf('\r\n\r\n', at)
        if (end < 0) {
          this.#rest = data.subarray(at)
          return
        }
        this.#head(data.toString('latin1', at, end))
        at = end + 4
        if (this.#state === 'body' && this.#left === 0) this.#end()
      } else if (this.#state === 'size' || this.#state === 'trailer') {
        at = this.#sizeOrTrailer(data, at)
      } else if (this.#state === 'until_close') {
        this.#to.onData?.(data.subarray(at))
        return
      } else {
        at = this.#payload(data, at)
      }
    }
  }

  /** The socket has ended: for an answer without a length, that was its end; true if nothing is missing. */
  close() {
    if (this.#to !== undefined && this.#state === 'until_close') this.#end()
    return this.#to === undefined
  }

  /** @param {string} head */
  #head(head) {
    this.#status = Number(head.slice(9, 12))
    if (this.#status === 100) return
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)
    this.#left = length === null ? 0 : Number(length[1])
    if (length !== null) this.#state = 'body'
    else this.#state = /\r\ntransfer-encoding: *chunked/i.test(head) ? 'size' : 'until_close'
    this.#line = ''
  }

  /** @param {Buffer} data @param {number} at */
  #sizeOrTrailer(data, at) {
    const end = data.indexOf(10, at)
    this.#line += data.toString('latin1', at, end < 0 ? data.length : end)
    if (end < 0) return data.length
    const line = this.#line.trim()
    this.#line = ''
    if (this.#state === 'trailer') {
      if (line === '') this.#end()
    } else if (line !== '') {
      this.#left = Number.parseInt(line, 16)
      this.#state = this.#left === 0 ? 'trailer' : 'chunk'
    }
    return end + 1
  }

  /** @param {Buffer} data @param {number} at */
  #payload(data, at) {
    const end = Math.min(data.length, at + this.#left)
    this.#left -= end - at
    this.#to?.onData?.(data.subarray(at, end))
    if (this.#left === 0) {
      if (this.#state === 'body') this.#end()
      else this.#state = 'size'
    }
    return end
  }

  #end() {
    const to = this.#to
    this.#to = undefined
    to?.onEnd(this.#status)
  }
}
