// Processes that the bench starts: each in its own group, each ended by its pid.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { withFiles } from './machine.mjs'

const STOP_LIMIT_MS = 15_000

/** @param {number} pid */
export function isAlive(pid) {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

/** @param {() => boolean} isTrue @param {number} limitMs */
export async function until(isTrue, limitMs) {
  const end = Date.now() + limitMs
  while (!isTrue()) {
    if (Date.now() > end) return false
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  return true
}

/** @param {number} pid @param {NodeJS.Signals} signal */
export function send(pid, signal) {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended already.
  }
}

/** @typedef {{ pid: number, output: () => string, exit: () => string, stop: () => Promise<void> }} Started */

/**
 * Starts a command with the file limit of the bench. Its own group, so that Ctrl-C reaches this program alone and everything is
 * ended in order. @param {string[]} command @param {{ env?: Record<string, string>, cwd?: string }} [options] @returns {Started}
 */
export function start(command, { env = {}, cwd } = {}) {
  const child = spawn(...withFiles(command), {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    cwd,
    env: { ...process.env, ...env },
  })
  let output = ''
  let exit = ''
  child.on('error', (error) => {
    exit = error.message
  })
  child.on('exit', (code, signal) => {
    exit = `exit ${code ?? signal}`
  })
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output = (output + text).slice(-8192)
    })
  }
  const pid = child.pid ?? 0
  return {
    pid,
    output: () => output,
    exit: () => exit,
    stop: async () => {
      if (pid === 0) return
      send(pid, 'SIGTERM')
      if (await until(() => !isAlive(pid), STOP_LIMIT_MS)) return
      send(pid, 'SIGKILL')
      throw new Error(`${command.join(' ')} did not end within ${STOP_LIMIT_MS} ms of SIGTERM`)
    },
  }
}

/** The first match in what a process has said; throws with its output if it ends or stays silent. @param {Started} started @param {RegExp} pattern @param {string} what */
export async function said(started, pattern, what) {
  const find = () => pattern.exec(started.output())?.[0]
  await until(() => find() !== undefined || started.exit() !== '', 30_000)
  const found = find()
  if (found === undefined)
    throw new Error(`${what} did not start (${started.exit() || 'it says nothing'}):\n${started.output()}`)
  return found
}
