// Swallows a request body and knows where it ends: by its length, or by its chunks.

const CR = 13

export class BodyEater {
  bytes = 0
  isDone = false
  /** Bytes left of the body, or of the current chunk with its line end. */
  #left
  #isChunked
  #sizeLine = ''
  #isLast = false

  /** @param {number} length @param {boolean} isChunked */
  constructor(length, isChunked) {
    this.#left = length
    this.#isChunked = isChunked
    this.isDone = !isChunked && length === 0
  }

  /** @param {string} head */
  static of(head) {
    if (/\r\ntransfer-encoding: *chunked/i.test(head)) return new BodyEater(0, true)
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)
    return new BodyEater(length === null ? 0 : Number(length[1]), false)
  }

  /** Takes what belongs to the body from `at`; returns where it stopped. @param {Buffer} data @param {number} at */
  eat(data, at) {
    if (!this.#isChunked) {
      const taken = Math.min(this.#left, data.length - at)
      this.#left -= taken
      this.bytes += taken
      this.isDone = this.#left === 0
      return at + taken
    }
    let from = at
    while (from < data.length && !this.isDone) {
      if (this.#left > 0) {
        const taken = Math.min(this.#left, data.length - from)
        this.#left -= taken
        from += taken
        if (this.#left === 0 && this.#isLast) this.isDone = true
        continue
      }
      const byte = data[from++]
      if (byte !== 10) {
        if (byte !== CR) this.#sizeLine += String.fromCharCode(byte)
        continue
      }
      const size = Number.parseInt(this.#sizeLine, 16)
      this.#sizeLine = ''
      this.#isLast = size === 0
      this.bytes += size
      this.#left = size + 2
    }
    return from
  }
}
