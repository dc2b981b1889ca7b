// What a bench run stands on: a temporary home, the daemon as a child, and the fake engine that the daemon started.
// "Direct" talks to that very engine, so both sides are measured against one process.
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** @typedef {{ origin: string, key: string | undefined, control: string }} Target Where requests go; `control` is the fake engine itself. */
/** @typedef {{ direct: Target, hal0: Target, daemonPid: number, enginePid: number, stop: () => Promise<void> }} Stage */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const CLI = join(ROOT, 'dist/cli/main.js')
const ENGINE = join(ROOT, 'test/fake-engine/fake-engine.mjs')
/** More than the largest number of streams that a line opens. */
const TOTAL_SLOTS = 1200
const START_LIMIT_MS = 30_000
const STOP_LIMIT_MS = 15_000

/** @param {string} home */
function writeHome(home) {
  const etc = join(home, 'etc/hal0')
  const model = join(home, 'fake.gguf')
  mkdirSync(join(etc, 'slots'), { recursive: true })
  // A GGUF header that promises nothing: version 3, no tensors, no facts. The fake engine never opens it.
  writeFileSync(model, Buffer.concat([Buffer.from('GGUF'), Buffer.from([3, 0, 0, 0]), Buffer.alloc(16)]))
  chmodSync(ENGINE, 0o755)
  const toml = JSON.stringify
  writeFileSync(join(etc, 'hal0.toml'), `[slots]\nqueue_limit = 4096\n\n[runners.cpu]\nbinary = ${toml(ENGINE)}\n`)
  writeFileSync(join(etc, 'models.toml'), `[models.fake-model]\npath = ${toml(model)}\n`)
  writeFileSync(
    join(etc, 'slots/fake.toml'),
    `name = "fake"\ndevice = "cpu"\nbinary = "cpu"\n\n[model]\ndefault = "fake-model"\n\n[server.env]\nFAKE_TOTAL_SLOTS = "${TOTAL_SLOTS}"\nFAKE_KEEP_ALIVE_MS = "30000"\n`,
  )
}

/** @param {number} pid */
export function isAlive(pid) {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

/** @param {() => boolean} isTrue @param {number} limitMs */
async function until(isTrue, limitMs) {
  const end = Date.now() + limitMs
  while (!isTrue()) {
    if (Date.now() > end) return false
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return true
}

/** @param {number} pid @param {NodeJS.Signals} signal */
function send(pid, signal) {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended already.
  }
}

/** The engine of a daemon that we never came to ask; 0 = none on record. @param {string} home @returns {number} */
function recordedEngine(home) {
  try {
    const state = JSON.parse(readFileSync(join(home, 'var-lib/hal0/slots/fake/state.json'), 'utf8'))
    return state.extra?.process?.pid ?? 0
  } catch {
    return 0
  }
}

/**
 * Starts everything; what was started before a failure is ended.
 * `onStopper` gets the function that ends it all as soon as there is something to end.
 * @param {(stop: () => Promise<void>) => void} onStopper
 * @returns {Promise<Stage>}
 */
export async function startStage(onStopper) {
  if (!existsSync(CLI)) throw new Error(`${CLI} is missing: run npm run build`)
  const home = mkdtempSync(join(tmpdir(), 'hal0-bench-'))
  writeHome(home)
  // Its own group, so that Ctrl-C reaches this program alone and everything is ended in order.
  const daemon = spawn(process.execPath, [CLI, 'serve', '--home', home, '--port', '0'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    env: { ...process.env, HAL0_HOME: home },
  })
  let output = ''
  let exit = ''
  daemon.on('error', (error) => {
    exit = error.message
  })
  daemon.on('exit', (code, sig) => {
    exit = `exit ${code ?? sig}`
  })
  for (const stream of [daemon.stdout, daemon.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output = (output + text).slice(-8192)
    })
  }
  const daemonPid = daemon.pid ?? 0
  let enginePid = 0

  /** @type {Promise<void> | undefined} */
  let stopping
  const stop = () => {
    stopping ??= (async () => {
      if (daemonPid !== 0) send(daemonPid, 'SIGTERM')
      const ended = await until(() => daemonPid === 0 || !isAlive(daemonPid), STOP_LIMIT_MS)
      if (!ended) send(daemonPid, 'SIGKILL')
      if (enginePid === 0) enginePid = recordedEngine(home)
      const left = enginePid !== 0 && isAlive(enginePid)
      if (left) send(enginePid, 'SIGKILL')
      rmSync(home, { recursive: true, force: true })
      if (!ended) throw new Error(`the daemon did not end within ${STOP_LIMIT_MS} ms of SIGTERM`)
      if (left) throw new Error('the daemon ended but left its engine running')
    })()
    return stopping
  }
  onStopper(stop)

  const urlOf = () => /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0]
  await until(() => urlOf() !== undefined || exit !== '', START_LIMIT_MS)
  const url = urlOf()
  if (url === undefined || exit !== '')
    throw new Error(`the daemon did not start (${exit || 'no base URL'}):\n${output}`)

  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'fake', messages: [{ role: 'user', content: 'hello' }] }),
    signal: AbortSignal.timeout(START_LIMIT_MS),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`the first request through hal0 failed (${answer.status}): ${text}\n${output}`)

  const slot = join(home, 'var-lib/hal0/slots/fake')
  const state = JSON.parse(readFileSync(join(slot, 'state.json'), 'utf8'))
  const engine = `http://127.0.0.1:${state.port}`
  const view = await (await fetch(`${engine}/fake/state`)).json()
  enginePid = view.pid
  return {
    direct: { origin: engine, key: readFileSync(join(slot, 'engine-key'), 'utf8').trim(), control: engine },
    hal0: { origin: url, key: undefined, control: engine },
    daemonPid,
    enginePid,
    stop,
  }
}
