// Runs one job of the client in a process of its own.
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const WORKER = fileURLToPath(new URL('../client/worker.mjs', import.meta.url))

/**
 * `onMilestone` hears what the job reports on its way (for example that all streams are open).
 * The client exits by itself when this process is gone.
 * @param {Record<string, unknown>} job
 * @param {(name: string) => void} [onMilestone]
 * @returns {Promise<any>}
 */
export function runJob(job, onMilestone) {
  return new Promise((resolve, reject) => {
    const child = fork(WORKER, [], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    child.on('message', (/** @type {any} */ message) => {
      if (message.milestone !== undefined) return onMilestone?.(message.milestone)
      child.disconnect()
      if (message.failure !== undefined) reject(new Error(message.failure))
      else resolve(message.result)
    })
    child.on('error', reject)
    child.on('exit', (code, signal) => reject(new Error(`the bench client ended early (${code ?? signal})`)))
    child.send(job)
  })
}

/**
 * Both sides in turn, the first one changing from round to round, so that neither always has the warmer machine.
 * @template T
 * @param {number} rounds
 * @param {import('./stage.mjs').Stage} stage
 * @param {(target: import('./stage.mjs').Target, side: 'direct' | 'hal0') => Promise<T>} measure
 * @returns {Promise<{ direct: T[], hal0: T[] }>}
 */
export async function interleave(rounds, stage, measure) {
  /** @type {{ direct: T[], hal0: T[] }} */
  const results = { direct: [], hal0: [] }
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? ['direct', 'hal0'] : ['hal0', 'direct']
    for (const side of order) results[side].push(await measure(stage[side], side))
  }
  return results
}

/** A chat body; knobs for the fake engine ride along. @param {Record<string, unknown>} [more] */
export function chatBody(more = {}) {
  const messages = [{ role: 'user', content: 'Tell me something about loopback sockets.' }]
  return JSON.stringify({ model: 'fake', messages, max_tokens: 16, ignore_eos: true, ...more })
}

/** @param {import('./stage.mjs').Target} target @returns {Record<string, string>} */
export function headersFor(target) {
  const headers = { 'content-type': 'application/json' }
  return target.key === undefined ? headers : { ...headers, authorization: `Bearer ${target.key}` }
}
