// Runs one job of the client in a process of its own, on the cores of the client.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { pinning, withFiles } from './machine.mjs'
import { SIDES } from './stage.mjs'

const WORKER = fileURLToPath(new URL('../client/worker.mjs', import.meta.url))

/**
 * `onMilestone` hears what the job reports on its way (for example that all streams are open); the job goes on when it is done.
 * The client exits by itself when this process is gone.
 * @param {Record<string, unknown>} job
 * @param {(name: string) => Promise<void> | void} [onMilestone]
 * @returns {Promise<any>}
 */
export function runJob(job, onMilestone) {
  return new Promise((resolve, reject) => {
    const child = spawn(...withFiles([...pinning().others, process.execPath, WORKER]), {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    child.on('message', (/** @type {any} */ message) => {
      if (message.milestone !== undefined) {
        Promise.resolve(onMilestone?.(message.milestone)).then(() => child.send({ goOn: true }), reject)
        return
      }
      child.disconnect()
      if (message.failure !== undefined) reject(new Error(message.failure))
      else resolve(message.result)
    })
    child.on('error', reject)
    child.on('exit', (code, signal) => reject(new Error(`the bench client ended early (${code ?? signal})`)))
    child.send(job)
  })
}

/** @typedef {Partial<Record<import('./stage.mjs').Side, Record<string, number>[]>>} Rounds The numbers of each round, by side. */

/**
 * All sides in turn, another one first in each round, so that none always has the warmer machine.
 * @param {number} rounds @param {import('./stage.mjs').Stage} stage
 * @param {(target: import('./stage.mjs').Target, side: import('./stage.mjs').Side) => Promise<Record<string, number>>} measure
 * @param {readonly import('./stage.mjs').Side[]} [sides]
 * @returns {Promise<Rounds>}
 */
export async function interleave(rounds, stage, measure, sides = SIDES) {
  const present = sides.filter((side) => stage.targets[side] !== undefined)
  /** @type {Rounds} */
  const results = Object.fromEntries(present.map((side) => [side, []]))
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < present.length; i++) {
      const side = present[(i + round) % present.length]
      const target = stage.targets[side]
      if (target !== undefined) results[side]?.push(await measure(target, side))
    }
  }
  return results
}

/**
 * The same there and back again in each round, whose numbers are the means of the two: a neighbour of the machine that is busy for some
 * seconds costs all sides alike.
 * @param {number} rounds @param {import('./stage.mjs').Stage} stage
 * @param {(target: import('./stage.mjs').Target, side: import('./stage.mjs').Side) => Promise<Record<string, number>>} measure
 * @returns {Promise<Rounds>}
 */
export async function thereAndBack(rounds, stage, measure) {
  /** @type {Rounds} */
  const results = {}
  for (let round = 0; round < rounds; round++) {
    const there = SIDES.map((_, i) => SIDES[(i + round) % SIDES.length] ?? 'direct')
    for (const side of [...there, ...there.toReversed()]) {
      const target = stage.targets[side]
      if (target === undefined) continue
      const numbers = await measure(target, side)
      const before = (results[side] ??= [])[round]
      if (before === undefined) results[side][round] = numbers
      else for (const [key, value] of Object.entries(numbers)) before[key] = ((before[key] ?? 0) + value) / 2
    }
  }
  return results
}

/** A chat body of about 200 bytes; what the engine is to do rides along. @param {string} [bench] @param {Record<string, unknown>} [more] */
export function chatBody(bench, more = {}) {
  const content = 'Tell me something about loopback sockets, and not too much of it, please.'
  const knob = bench === undefined ? {} : { bench }
  return JSON.stringify({
    model: 'bench',
    ...knob,
    ...more,
    messages: [{ role: 'user', content }],
    max_tokens: 16,
    temperature: 0.7,
  })
}

/** @param {import('./stage.mjs').Target} target @returns {Record<string, string>} */
export function headersFor(target) {
  const headers = { 'content-type': 'application/json' }
  return target.key === undefined ? headers : { ...headers, authorization: `Bearer ${target.key}` }
}

/** @param {Record<string, number>} into @param {Record<string, number>} errors @param {string} side */
export function addErrors(into, errors, side) {
  for (const [why, n] of Object.entries(errors)) into[`${side}: ${why}`] = (into[`${side}: ${why}`] ?? 0) + n
}
