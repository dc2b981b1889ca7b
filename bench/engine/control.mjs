// What the bench asks its engine beside the requests: what it has seen, and to let held streams end.
import { jsonAnswer } from './answers.mjs'

/** @typedef {{ isBusy: boolean, hasSpoken: boolean }} Active One request that is being answered. */

export class Control {
  /** Requests that wait or stream, those with a kind only. */
  active = 0
  /** @type {{ at_ns: string, phase: 'before_first_byte' | 'mid_stream' }[]} */
  #aborts = []
  #abortCount = 0
  /** @type {Set<() => void>} */
  #held = new Set()
  /** @type {{ isTrue: () => boolean, socket: import('node:net').Socket }[]} */
  #waits = []

  /** A client that left before its answer ended. @param {Active} active */
  left(active) {
    active.isBusy = false
    this.active -= 1
    this.#abortCount += 1
    this.#aborts.push({
      at_ns: String(process.hrtime.bigint()),
      phase: active.hasSpoken ? 'mid_stream' : 'before_first_byte',
    })
    if (this.#aborts.length > 64) this.#aborts.shift()
    this.#look()
  }

  /** @param {Active} active */
  done(active) {
    active.isBusy = false
    this.active -= 1
  }

  /** A stream that ends when it is told to. @param {() => void} end */
  hold(end) {
    this.#held.add(end)
    return () => this.#held.delete(end)
  }

  #view() {
    return jsonAnswer(
      200,
      JSON.stringify({ pid: process.pid, active: this.active, aborts: this.#abortCount, log: this.#aborts }),
    )
  }

  #look() {
    this.#waits = this.#waits.filter(({ isTrue, socket }) => {
      if (!isTrue()) return true
      socket.write(this.#view())
      return false
    })
  }

  /** A request with a kind has begun. */
  began() {
    this.#look()
  }

  /** /bench/state, /bench/finish, /bench/wait/aborts/N, /bench/wait/active/N. @param {import('node:net').Socket} socket @param {string} path */
  answer(socket, path) {
    if (path === '/bench/finish') {
      for (const end of this.#held) end()
      this.#held.clear()
    }
    const [, counter, min] = /^\/bench\/wait\/(aborts|active)\/(\d+)$/.exec(path) ?? []
    if (counter === undefined) return void socket.write(this.#view())
    this.#waits.push({ socket, isTrue: () => (counter === 'aborts' ? this.#abortCount : this.active) >= Number(min) })
    this.#look()
  }
}
