// As many requests as it goes: wrk where it is installed, else our own client.
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { hasProgram, pinning, withFiles } from './machine.mjs'
import { addErrors, headersFor, runJob } from './work.mjs'

const run = promisify(execFile)
export const hasWrk = hasProgram('wrk')

/** @param {Record<string, string>} headers @param {string} body */
function scriptOf(headers, body) {
  const lines = Object.entries(headers).map(
    ([name, value]) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}`,
  )
  return `wrk.method = "POST"
${lines.join('\n')}
wrk.body = [==[${body}]==]
function done(summary)
  local e = summary.errors
  io.write(string.format('RESULT{"answers":%d,"us":%d,"status":%d,"socket":%d,"timeout":%d}\\n',
    summary.requests, summary.duration, e.status, e.connect + e.read + e.write, e.timeout))
end
`
}

/**
 * Complete answers a second on so many connections.
 * @param {import('./stage.mjs').Target} target @param {{ connections: number, seconds: number, body: string }} load
 * @returns {Promise<{ perSecond: number, errors: Record<string, number> }>}
 */
export async function floodTarget(target, load) {
  if (!hasWrk) {
    const result = await runJob({ kind: 'flood', ...load, origin: target.origin, headers: headersFor(target) })
    return { perSecond: result.answers / result.seconds, errors: result.errors }
  }
  const folder = mkdtempSync(join(tmpdir(), 'hal0-bench-wrk-'))
  try {
    const script = join(folder, 'load.lua')
    writeFileSync(script, scriptOf(headersFor(target), load.body))
    // wrk takes whole seconds only.
    const duration = `-d${Math.max(1, Math.round(load.seconds))}s`
    const words = ['wrk', '-t1', `-c${load.connections}`, duration, '--timeout', '10s', '-s', script]
    const { stdout } = await run(...withFiles([...pinning().others, ...words, `${target.origin}/v1/chat/completions`]))
    const result = JSON.parse(/RESULT(.*)/.exec(stdout)?.[1] ?? '{}')
    const bad = { 'not 2xx': result.status, 'socket errors': result.socket, timeouts: result.timeout }
    return {
      perSecond: (result.answers - result.status) / (result.us / 1e6),
      errors: Object.fromEntries(Object.entries(bad).filter(([, n]) => n > 0)),
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Lets every side serve such requests for a while, as fast as it can: the code that is measured then is the code that runs all day.
 * @param {import('./stage.mjs').Stage} stage @param {{ connections: number, seconds: number, body: string }} load
 * @param {Record<string, number>} errors what went wrong is added
 */
export async function warmUp(stage, load, errors) {
  for (const [side, target] of Object.entries(stage.targets)) {
    addErrors(errors, (await floodTarget(target, load)).errors, side)
  }
}
