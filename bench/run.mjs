// npm run bench: hal0 measured against talking to the same engine directly, in one run. Method: docs/benchmarks.md.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { FULL, QUICK } from './lib/line.mjs'
import { machine, rowsOf, tableOf, versionOf, writeReport } from './lib/report.mjs'
import { startStage } from './lib/stage.mjs'
import { median } from './lib/stats.mjs'
import { abort } from './lines/abort.mjs'
import { latency } from './lines/latency.mjs'
import { memory } from './lines/memory.mjs'
import { streams } from './lines/streams.mjs'
import { throughput } from './lines/throughput.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** In this order: memory is measured before the others have filled the daemon's heap; latency needs the throughput. */
const LINES = [memory, throughput, latency, streams, abort]
/** For the fixed rate when the throughput line does not run. */
const ASSUMED_PER_SECOND = 2500

const USAGE = `npm run bench -- [--quick] [--only LINE] [--json PATH] [--no-build]
  --quick     a short run that checks that everything works; its numbers mean little
  --only      one of: ${LINES.map((l) => l.key).join(', ')} (may be repeated)
  --json      where the numbers go (default bench/results/<time>.json)
  --no-build  measure dist/ as it is`

/** @type {() => Promise<void>} */
let stopStage = async () => {}

/** Interrupted: everything that was started is ended first. */
let isInterrupted = false
for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
  process.on(name, () => {
    if (isInterrupted) return
    isInterrupted = true
    process.stderr.write('bench: interrupted, ending what was started\n')
    stopStage().then(
      () => process.exit(130),
      (error) => fail(error),
    )
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
        quick: { type: 'boolean', default: false },
        only: { type: 'string', multiple: true, default: [] },
        json: { type: 'string' },
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

async function main() {
  const options = readOptions()
  if (options.help) return void process.stdout.write(`${USAGE}\n`)
  if (!options['no-build']) {
    const build = spawnSync('npm', ['run', '--silent', 'build'], { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] })
    if (build.status !== 0) throw new Error('npm run build failed')
  }
  const at = new Date().toISOString()
  const here = machine()
  const effort = options.quick ? QUICK : FULL
  const chosen = LINES.filter((line) => options.only.length === 0 || options.only.includes(line.key))
  process.stdout.write(
    `hal0 ${versionOf(ROOT)} on ${here.cores} cores (${here.cpu}), ${here.kernel}, node ${here.node}\n`,
  )

  const stage = await startStage((stop) => {
    stopStage = stop
  })
  let hal0PerSecond = ASSUMED_PER_SECOND
  const lines = []
  for (const line of chosen) {
    if (isInterrupted) return
    process.stderr.write(`bench: ${line.title}\n`)
    const outcome = await line.measure(stage, { ...effort, hal0PerSecond })
    if (line === throughput) hal0PerSecond = median(outcome.hal0.map((round) => round.per_s ?? 0))
    lines.push({ key: line.key, ...outcome, rows: rowsOf(outcome) })
  }
  if (isInterrupted) return
  await stage.stop()

  process.stdout.write(`${tableOf(lines.flatMap((line) => line.rows))}\n`)
  const path = options.json ?? join(ROOT, 'bench/results', `${at.replaceAll(':', '-')}.json`)
  writeReport(path, { at, hal0: versionOf(ROOT), machine: here, quick: options.quick, effort, lines })
  process.stdout.write(`numbers: ${path}\n`)

  const errors = lines.flatMap((line) => Object.entries(line.errors).map(([why, n]) => `${line.key}: ${n} × ${why}`))
  if (errors.length > 0) throw new Error(`requests failed\n  ${errors.join('\n  ')}`)
  process.stdout.write('0 errors\n')
}

main().catch(async (error) => {
  await stopStage().catch((second) => process.stderr.write(`bench: ${second.message}\n`))
  if (!isInterrupted) fail(error)
})
