// npm run bench: hal0 beside nginx, a bare proxy and the engine itself, in one run. Method: docs/benchmarks.md.
import { spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { FULL, QUICK } from './lib/line.mjs'
import { fileLimit, machine, pinning } from './lib/machine.mjs'
import { historyOf, markdownOf, readRuns, tableOf, versionOf, writeReport } from './lib/report.mjs'
import { DIST, startStage } from './lib/stage.mjs'
import { betterOf, missedGates, rowsOf } from './lib/verdict.mjs'
import { hasWrk } from './lib/wrk.mjs'
import { LINES } from './lines/all.mjs'

/** A gate that is missed is measured so often again. */
const MORE_TRIES = 3

const ROOT = fileURLToPath(new URL('..', import.meta.url))

const USAGE = `npm run bench -- [--check] [--quick] [--only LINE] [--markdown] [--json PATH [--note TEXT]] [--dist PATH] [--no-build]
  --check     ends with code 1 when a gate is missed four times, with new processes each time
  --quick     a short run that checks that everything works; its numbers mean little
  --only      one of: ${LINES.map((l) => l.key).join(', ')} (may be repeated)
  --markdown  the table as Markdown
  --json      writes all numbers to this file; bench/results/<date>.json is what docs/benchmarks.md shows
  --note      what to call this run in the history
  --dist      measure this build (default: dist/, built first)
  --no-build  measure dist/ as it is
  --history   measures nothing: the runs in bench/results as one Markdown table`

/** What runs now, each with what ends it. @type {Set<() => Promise<void>>} */
const stoppers = new Set()
/** @type {import('./lib/stage.mjs').OnStopper} */
const onStopper = (stop) => {
  stoppers.add(stop)
}

async function stopAll() {
  const stops = [...stoppers]
  stoppers.clear()
  const ends = await Promise.allSettled(stops.map((stop) => stop()))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}

/** Interrupted: everything that was started is ended first. */
let isInterrupted = false
for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
  process.on(name, () => {
    if (isInterrupted) return
    isInterrupted = true
    process.stderr.write('bench: interrupted, ending what was started\n')
    stopAll().then(() => process.exit(130), fail)
  })
}

/** @param {unknown} error @returns {never} */
function fail(error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(1)
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        check: { type: 'boolean', default: false },
        quick: { type: 'boolean', default: false },
        only: { type: 'string', multiple: true, default: [] },
        markdown: { type: 'boolean', default: false },
        json: { type: 'string' },
        note: { type: 'string' },
        dist: { type: 'string' },
        history: { type: 'boolean', default: false },
        'no-build': { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    })
    const unknown = values.only.filter((key) => !LINES.some((line) => line.key === key))
    if (unknown.length > 0) throw new Error(`no line "${unknown.join('", "')}"`)
    return values
  } catch (error) {
    process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n${USAGE}\n`)
    process.exit(2)
  }
}

/** @param {import('./lib/line.mjs').Line} line @param {import('./lib/line.mjs').Effort} effort @param {import('./lib/line.mjs').Bench} bench */
async function measure(line, effort, bench) {
  process.stderr.write(`bench: ${line.title}\n`)
  const startedMs = Date.now()
  const outcome = await line.measure(effort, bench)
  const tookS = Math.round((Date.now() - startedMs) / 1000)
  return { key: line.key, tookS, ...outcome, rows: rowsOf(line.key, outcome) }
}

async function main() {
  const options = readOptions()
  if (options.help) return void process.stdout.write(`${USAGE}\n`)
  if (options.history) return void process.stdout.write(`${historyOf(readRuns(join(ROOT, 'bench/results')))}\n`)
  if (!options['no-build'] && options.dist === undefined) {
    const build = spawnSync('npm', ['run', '--silent', 'build'], { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] })
    if (build.status !== 0) throw new Error('npm run build failed')
  }
  const dist = resolve(options.dist ?? DIST)
  const at = new Date().toISOString()
  const pins = pinning()
  const here = { ...machine(), pinned: pins.isPinned, wrk: hasWrk, open_files: fileLimit() }
  const effort = options.quick ? QUICK : FULL
  const chosen = LINES.filter((line) => options.only.length === 0 || options.only.includes(line.key))
  process.stdout.write(
    `hal0 ${versionOf(ROOT)} on ${here.cores} cores (${here.cpu}), ${here.kernel}, node ${here.node}, ${pins.isPinned ? 'the proxy alone on its core' : 'not pinned'}, ${hasWrk ? 'wrk' : 'no wrk: own client'}\n`,
  )

  /** @type {Awaited<ReturnType<typeof startStage>> | undefined} */
  let stage
  /** @type {import('./lib/line.mjs').Bench} */
  const bench = {
    onStopper,
    dist,
    fresh: async () => {
      await stopAll()
      if (isInterrupted) throw new Error('interrupted')
      stage = await startStage(onStopper, dist)
      return stage
    },
    stage: async () => stage ?? bench.fresh(),
    end: async () => {
      await stopAll()
      stage = undefined
    },
  }
  const lines = []
  for (const line of chosen) {
    if (isInterrupted) return
    let result = await measure(line, effort, bench)
    // The machine may have been busy with something else, or V8 has settled the other process at its faster speed.
    for (let more = options.quick ? 0 : MORE_TRIES; more > 0; more--) {
      const missed = missedGates(result.rows)
      if (missed.length === 0) break
      process.stderr.write(`bench: once more, missed: ${missed.map((row) => row.name).join('; ')}\n`)
      await bench.end()
      result = betterOf(result, await measure(line, effort, bench))
    }
    lines.push(result)
  }
  if (isInterrupted) return
  await stopAll()

  const rows = lines.flatMap((line) => line.rows)
  process.stdout.write(`${options.markdown ? markdownOf(rows) : tableOf(rows)}\n`)
  if (options.json !== undefined)
    writeReport(options.json, {
      at,
      hal0: versionOf(ROOT),
      note: options.note,
      machine: here,
      quick: options.quick,
      effort,
      lines,
    })
  const skipped = lines.filter((line) => line.skipped !== undefined)
  for (const line of skipped) process.stdout.write(`skipped: ${line.key}: ${line.skipped}\n`)

  const complaints = lines.flatMap((line) =>
    Object.entries(line.errors).map(([why, n]) => `${line.key}: ${n} × ${why}`),
  )
  if (options.check) complaints.push(...missedGates(rows).map((row) => `gate missed: ${row.name} ${row.gate?.text}`))
  if (options.check && process.env['CI'] !== undefined)
    complaints.push(...skipped.map((line) => `skipped: ${line.key}`))
  if (complaints.length > 0) throw new Error(`failed\n  ${complaints.join('\n  ')}`)
  if (options.quick) process.stdout.write('a short run: it shows that everything works, its numbers mean little\n')
  process.stdout.write(options.check ? 'all gates passed, 0 errors\n' : '0 errors\n')
}

main().catch(async (error) => {
  await stopAll().catch((second) => process.stderr.write(`bench: ${second.message}\n`))
  if (!isInterrupted) fail(error)
})
