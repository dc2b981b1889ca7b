// Another model in the same slot, with a real llama.cpp: from the request to the first chunk. Beside it the same engine with the
// same words and environment, stopped and started by hand.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { msBetween, nowNs, requestOf, Wire } from '../client/wire.mjs'
import { engineOf } from '../lib/hal0-home.mjs'
import { freePort } from '../lib/nginx.mjs'
import { startDaemon } from '../lib/stage.mjs'
import { SWAP_MODELS, SWAP_SLOT, writeSwapHome } from '../lib/swap-home.mjs'

const START_LIMIT_MS = 60_000

/** Waits for the first event of a stream, then for its end. @param {string} origin @param {string} model @param {string} [key] @returns {Promise<bigint>} the moment of the first event */
function firstChunk(origin, model, key) {
  const headers = {
    'content-type': 'application/json',
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
  }
  const body = JSON.stringify({
    model,
    stream: true,
    max_tokens: 2,
    messages: [{ role: 'user', content: 'What is 2+2?' }],
  })
  return new Promise((resolve, reject) => {
    const wire = new Wire(origin)
    let text = ''
    /** @type {bigint | undefined} */
    let atNs
    wire.send(requestOf({ origin, headers, body }), {
      onData: (payload) => {
        text += payload.toString('latin1')
        if (atNs === undefined && text.includes('data: ')) atNs = nowNs()
      },
      onEnd: (status) => {
        wire.close()
        if (status === 200 && atNs !== undefined) resolve(atNs)
        else reject(new Error(`${model}: status ${status}: ${text.slice(0, 300)}`))
      },
      onError: (why) => reject(new Error(`${model}: ${why}`)),
    })
  })
}

/** The words and the environment of a running engine. @param {number} pid @param {string} key @param {number} port */
function launchOf(pid, key, port) {
  const wordsOf = (/** @type {string} */ file) =>
    readFileSync(`/proc/${pid}/${file}`, 'utf8')
      .split('\0')
      .filter((word) => word !== '')
  const argv = wordsOf('cmdline')
  argv[argv.indexOf('--port') + 1] = String(port)
  const env = Object.fromEntries(
    wordsOf('environ').map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]),
  )
  return { argv, env, key, origin: `http://127.0.0.1:${port}` }
}

/** On a connection that is not kept: one that stays open would delay the engine's end. @param {string} origin @returns {Promise<boolean>} */
function isHealthy(origin) {
  return new Promise((resolve) => {
    const req = get(`${origin}/health`, { agent: false }, (res) => {
      res.resume()
      res.once('close', () => resolve(res.statusCode === 200))
    })
    req.once('error', () => resolve(false))
  })
}

/** @param {ReturnType<typeof launchOf>} launch */
async function startByHand({ argv, env, origin }) {
  const [program = '', ...words] = argv
  const child = spawn(program, words, { env, stdio: 'ignore' })
  const end = Date.now() + START_LIMIT_MS
  while (Date.now() < end && child.exitCode === null) {
    const isUp = await isHealthy(origin)
    if (isUp) return child
    await new Promise((resolve) => setTimeout(resolve, 3))
  }
  throw new Error(`${program} did not come up by hand`)
}

/** @param {import('node:child_process').ChildProcess} child */
function stopByHand(child) {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve(undefined)
    child.once('exit', resolve)
    child.kill('SIGTERM')
  })
}

/** @type {import('../lib/line.mjs').Line} */
export const swap = {
  key: 'swap',
  title: 'swap of a model, real llama.cpp',
  measure: async ({ rounds }, bench) => {
    /** @type {Record<string, number>} */
    const errors = {}
    const llamaServer = process.env['HAL0_TEST_LLAMA_SERVER']
    if (llamaServer === undefined)
      return {
        sides: {},
        errors,
        skipped: 'no llama-server: name one in HAL0_TEST_LLAMA_SERVER (test/lab/lab server prints one)',
      }
    await bench.end()
    const home = mkdtempSync(join(tmpdir(), 'hal0-bench-swap-'))
    writeSwapHome(home, llamaServer)
    const daemon = startDaemon({ home, dist: bench.dist, prefix: [] })
    /** @type {import('node:child_process').ChildProcess | undefined} */
    let child
    bench.onStopper(async () => {
      if (child !== undefined) await stopByHand(child)
      await daemon.stop().finally(() => rmSync(home, { recursive: true, force: true }))
    })
    const origin = await daemon.origin()

    /** @type {ReturnType<typeof launchOf>[]} */
    const launches = []
    for (const model of SWAP_MODELS) {
      await firstChunk(origin, model)
      const engine = engineOf(home, SWAP_SLOT)
      launches.push(launchOf(engine.pid, engine.key, await freePort()))
    }
    const throughHal0 = async (/** @type {number} */ i) => {
      const startNs = nowNs()
      return msBetween(startNs, await firstChunk(origin, SWAP_MODELS[i] ?? ''))
    }
    const byHand = async (/** @type {number} */ i) => {
      const launch = launches[i]
      if (launch === undefined || child === undefined) throw new Error('no engine to stop by hand')
      const startNs = nowNs()
      await stopByHand(child)
      child = await startByHand(launch)
      return msBetween(startNs, await firstChunk(launch.origin, SWAP_SLOT, launch.key))
    }
    const [, second] = launches
    if (second === undefined) throw new Error('no engine to start by hand')
    child = await startByHand(second)
    /** @type {import('../lib/work.mjs').Rounds & { engine: Record<string, number>[] }} */
    const sides = { engine: [], hal0: [] }
    // Both stand at the second model: there and back is one round.
    for (let round = 0; round < rounds; round++) {
      sides.engine.push({ ms: ((await byHand(0)) + (await byHand(1))) / 2 })
      sides.hal0?.push({ ms: ((await throughHal0(0)) + (await throughHal0(1))) / 2 })
    }
    await bench.end()
    return { sides, errors }
  },
}
