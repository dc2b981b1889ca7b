// One answer being made: place in the queue, prefill, tokens over time, and every way in which it can go wrong.
import { JSON_TYPE, sendWhole } from './reply.mjs'

/** Without a rate, so many chunks are made in one go, then the event loop gets a turn (so that aborts are seen). */
const RUN_LENGTH = 64

/** Lets bytes that were written in this turn reach the kernel. */
const flushed = async () => {
  await new Promise(setImmediate)
  await new Promise(setImmediate)
}

/** @typedef {import('./knobs.mjs').Knobs} Knobs */

export class Generation {
  aborted = false
  /** Chunks made since the event loop last had a turn. */
  run = 0
  holdsPlace = false
  /** Ends the wait it is in. @type {(() => void) | undefined} */
  wake = undefined

  /**
   * @param {object} of
   * @param {import('node:http').ServerResponse} of.res
   * @param {import('./state.mjs').Seen} of.seen
   * @param {import('./state.mjs').EngineState} of.state
   * @param {import('./sequences.mjs').Sequences} of.sequences
   * @param {Set<() => void>} of.gates told when a knob changed
   * @param {() => Knobs} of.knobs read afresh at every step
   * @param {(why: string) => void} of.die ends the process
   */
  constructor(of) {
    Object.assign(this, of)
    this.res = of.res
    this.seen = of.seen
    this.state = of.state
    this.sequences = of.sequences
    this.gates = of.gates
    this.knobs = of.knobs
    this.die = of.die
  }

  /** The client is gone. */
  abort() {
    this.aborted = true
    this.wake?.()
  }

  /** @param {number} ms -1 = for ever */
  sleep(ms) {
    return new Promise((resolve) => {
      const timer = ms < 0 ? undefined : setTimeout(resolve, ms)
      this.wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  /** @param {() => boolean} isHeld */
  async gate(isHeld) {
    while (!this.aborted && isHeld()) {
      await new Promise((resolve) => {
        this.gates.add(resolve)
        this.wake = () => {
          this.gates.delete(resolve)
          resolve()
        }
      })
    }
  }

  leave() {
    if (!this.holdsPlace) return
    this.holdsPlace = false
    this.sequences.leave()
  }

  /** Place in the queue, then everything before the first byte. Returns false when the client left. */
  async begin() {
    const wait = this.sequences.enter(this)
    if (wait !== undefined) {
      this.seen.phase = 'queued'
      await wait
      if (this.aborted) return false
    }
    this.seen.phase = 'before_first_byte'
    if (this.knobs().hold_first) await this.gate(() => this.knobs().hold_first)
    const stallMs = this.knobs().stall_first_ms
    if (stallMs !== 0 && !this.aborted) await this.sleep(stallMs)
    return !this.aborted
  }

  /**
   * What stands between token i−1 and token i: gates, stalls, the rate, planned death. Returns false when it is over.
   * @param {number} i @param {number} startMs
   */
  async before(i, startMs) {
    const k = this.knobs()
    if (k.die_after_tokens === i) {
      await this.breakOff(k)
      return false
    }
    if (k.hold_after_tokens === i) await this.gate(() => this.knobs().hold_after_tokens === i)
    if (k.stall_mid_ms !== 0 && k.stall_after_tokens === i) await this.sleep(k.stall_mid_ms)
    if (k.tokens_per_second > 0) {
      const waitMs = startMs + (i * 1000) / k.tokens_per_second - performance.now()
      if (waitMs > 0) await this.sleep(waitMs)
    } else if (this.run >= RUN_LENGTH) {
      this.run = 0
      await new Promise(setImmediate)
    }
    return !this.aborted
  }

  /** True when token i needs nothing but to be made: the hot path stays free of promises. @param {number} i @param {Knobs} k */
  isPlain(i, k) {
    return (
      k.tokens_per_second === 0 &&
      k.die_after_tokens !== i &&
      k.hold_after_tokens !== i &&
      (k.stall_mid_ms === 0 || k.stall_after_tokens !== i) &&
      this.run < RUN_LENGTH
    )
  }

  /** Where the chunk that begins with token i ends: its size, or the next place where something is planned. @param {number} i @param {number} count */
  chunkEnd(i, count) {
    const k = this.knobs()
    let end = Math.min(count, i + Math.max(1, k.chunk_tokens))
    for (const at of [k.die_after_tokens, k.hold_after_tokens, k.stall_after_tokens]) if (at > i && at < end) end = at
    return end
  }

  /** What was said before the break still arrives. @param {Knobs} k */
  async breakOff(k) {
    this.aborted = true
    this.seen.phase = 'done'
    await flushed()
    if (k.die_how === 'exit') this.die('died while answering')
    else if (k.die_how === 'end') this.res.end()
    else if (k.die_how === 'reset') this.res.socket?.resetAndDestroy()
    else this.res.socket?.destroy()
  }

  /**
   * @param {ReturnType<typeof import('./answers.mjs').planAnswer>} plan
   * @param {import('./complete.mjs').Writer} writer
   * @param {Record<string, string>} headers
   */
  async answerWhole(plan, writer, headers) {
    const startMs = performance.now()
    let text = ''
    for (let i = 0; i < plan.count; i++) {
      if (!this.isPlain(i, this.knobs()) && !(await this.before(i, startMs))) return
      text += plan.token(i)
      this.made(1)
    }
    if (!(await this.mayEnd(plan.count))) return
    this.seen.phase = 'done'
    this.seen.status = 200
    const body = writer.whole(text, this.totals(plan, startMs))
    sendWhole(this.res, 200, { ...headers, 'Content-Type': writer.wholeType ?? JSON_TYPE }, body, this.knobs())
  }

  /**
   * @param {ReturnType<typeof import('./answers.mjs').planAnswer>} plan
   * @param {import('./complete.mjs').Writer} writer
   */
  async answerStream(plan, writer) {
    const startMs = performance.now()
    this.seen.phase = 'mid_stream'
    const open = writer.open(plan.promptTokens)
    if (open.length > 0 && this.knobs().die_after_tokens !== 0 && !(await this.put(open))) return
    for (let i = 0; i < plan.count; ) {
      if (!this.isPlain(i, this.knobs()) && !(await this.before(i, startMs))) return
      let text = ''
      const until = this.chunkEnd(i, plan.count)
      for (; i < until; i++) text += plan.token(i)
      this.made(until - this.seen.tokens)
      const sent = this.put(writer.chunk(text, i, plan.promptTokens))
      if (sent !== true && !(await sent)) return
    }
    if (!(await this.mayEnd(plan.count))) return
    if (this.knobs().bad_chunking) {
      this.seen.phase = 'done'
      this.res.socket?.end('ZZ\r\nnot a chunk\r\n')
      return
    }
    const close = writer.close(this.totals(plan, startMs))
    const last = close.length === 0 || this.put(close)
    if (last !== true && !(await last)) return
    this.seen.phase = 'done'
    this.res.end()
  }

  /** Death and gates that stand after the last token. @param {number} count */
  async mayEnd(count) {
    return this.isPlain(count, this.knobs()) || this.before(count, Number.NEGATIVE_INFINITY)
  }

  /** @param {number} tokens */
  made(tokens) {
    this.run += 1
    this.seen.tokens += tokens
    this.state.add('tokens', tokens)
  }

  /** Writes with backpressure: a client that does not read holds the engine back. @param {string | Buffer} text @returns {true | Promise<boolean>} */
  put(text) {
    if (this.aborted) return Promise.resolve(false)
    const size = this.knobs().write_bytes
    if (size > 0) return this.putInPieces(typeof text === 'string' ? Buffer.from(text) : text, size)
    if (this.res.write(text)) return true
    return this.drained()
  }

  /** @param {Buffer} bytes @param {number} size */
  async putInPieces(bytes, size) {
    for (let at = 0; at < bytes.length; at += size) {
      if (this.aborted) return false
      if (!this.res.write(bytes.subarray(at, at + size))) await this.drained()
      await new Promise(setImmediate)
    }
    return !this.aborted
  }

  async drained() {
    await new Promise((resolve) => {
      this.res.once('drain', resolve)
      this.wake = () => resolve()
    })
    return !this.aborted
  }

  /** @param {ReturnType<typeof import('./answers.mjs').planAnswer>} plan @param {number} startMs */
  totals(plan, startMs) {
    return {
      promptTokens: plan.promptTokens,
      tokens: plan.count,
      finishReason: plan.finishReason,
      promptMs: 0.5,
      predictedMs: performance.now() - startMs,
    }
  }
}
