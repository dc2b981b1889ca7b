// What a measurement stands on: hal0 as a child, the engine that it started, and the other proxies in front of that same engine.
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { engineOf, SLOT, writeHome } from './hal0-home.mjs'
import { childrenOf, hasProgram, pinning } from './machine.mjs'
import { startNginx } from './nginx.mjs'
import { isAlive, said, send, start } from './processes.mjs'

/** @typedef {'direct' | 'nginx' | 'bare' | 'hal0'} Side */
/** @typedef {{ origin: string, key: string | undefined, control: string, pids: () => number[] }} Target Where requests go; `control` is the engine itself; `pids` are the proxy's processes. */
/** @typedef {{ targets: Partial<Record<Side, Target>>, stop: () => Promise<void> }} Stage */

/** @typedef {(stop: () => Promise<void>) => void} OnStopper Gets the function that ends what was started. */

/** The order of the columns. @type {readonly Side[]} */
export const SIDES = ['direct', 'nginx', 'bare', 'hal0']

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const BARE = fileURLToPath(new URL('../bare-proxy/bare-proxy.mjs', import.meta.url))
export const DIST = join(ROOT, 'dist')
const START_LIMIT_MS = 30_000
const ORIGIN = /http:\/\/127\.0\.0\.1:\d+/

/**
 * hal0 on a home, with a port of its own choice. `stop` complains of an engine that is left behind.
 * @param {{ home: string, dist: string, prefix: string[] }} of
 */
export function startDaemon({ home, dist, prefix }) {
  const cli = join(dist, 'cli/main.js')
  if (!existsSync(cli)) throw new Error(`${cli} is missing: run npm run build`)
  const serve = [process.execPath, cli, 'serve', '--home', home, '--port', '0']
  const daemon = start([...prefix, ...serve], { env: { HAL0_HOME: home } })
  const stop = async () => {
    const engines = recordedPids(home)
    const ended = await Promise.allSettled([daemon.stop()])
    const left = engines.filter((pid) => isAlive(pid))
    for (const pid of left) send(pid, 'SIGKILL')
    for (const end of ended) if (end.status === 'rejected') throw end.reason
    if (left.length > 0) throw new Error('the daemon ended but left its engine running')
  }
  return { pid: daemon.pid, stop, origin: () => said(daemon, ORIGIN, 'the daemon') }
}

/** The engines of all slots of a home that the daemon has on record. @param {string} home @returns {number[]} */
function recordedPids(home) {
  const slots = join(home, 'var-lib/hal0/slots')
  if (!existsSync(slots)) return []
  return readdirSync(slots).flatMap((name) => {
    try {
      const { pid } = engineOf(home, name)
      return pid === 0 ? [] : [pid]
    } catch {
      // No engine yet.
      return []
    }
  })
}

/** The first request loads the slot. @param {string} origin */
async function firstRequest(origin) {
  const answer = await fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: SLOT, messages: [{ role: 'user', content: 'hello' }] }),
    signal: AbortSignal.timeout(START_LIMIT_MS),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`the first request through hal0 failed (${answer.status}): ${text}`)
}

/**
 * Starts everything; what was started before a failure is ended.
 * `onStopper` gets the function that ends it all as soon as there is something to end.
 * @param {OnStopper} onStopper @param {string} [dist] the build to measure
 * @returns {Promise<Stage>}
 */
export async function startStage(onStopper, dist = DIST) {
  const pins = pinning()
  const home = mkdtempSync(join(tmpdir(), 'hal0-bench-'))
  writeHome(home, pins.others)
  /** @type {{ stop: () => Promise<void> }[]} */
  const started = []

  /** @type {Promise<void> | undefined} */
  let stopping
  const stop = () => {
    stopping ??= (async () => {
      const ends = await Promise.allSettled(started.map((one) => one.stop()))
      rmSync(home, { recursive: true, force: true })
      for (const end of ends) if (end.status === 'rejected') throw end.reason
    })()
    return stopping
  }
  onStopper(stop)

  try {
    const daemon = startDaemon({ home, dist, prefix: pins.proxy })
    started.push(daemon)
    const origin = await daemon.origin()
    await firstRequest(origin)
    const engine = engineOf(home)
    const control = engine.origin
    /** @type {Stage['targets']} */
    const targets = { direct: { origin: control, key: engine.key, control, pids: () => [] } }
    if (hasProgram('nginx')) {
      const nginx = await startNginx({ home, prefix: pins.proxy, engineOrigin: control, key: engine.key })
      started.push(nginx.started)
      const pids = () => [nginx.started.pid, ...childrenOf(nginx.started.pid)]
      targets.nginx = { origin: nginx.origin, key: undefined, control, pids }
    }
    const bare = start([...pins.proxy, process.execPath, BARE, control, engine.key], { cwd: ROOT })
    started.push(bare)
    targets.bare = {
      origin: await said(bare, ORIGIN, 'the bare proxy'),
      key: undefined,
      control,
      pids: () => [bare.pid],
    }
    targets.hal0 = { origin, key: undefined, control, pids: () => [daemon.pid] }
    return { targets, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
