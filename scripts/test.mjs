// Runs the gates and the tests, and ends with `N passed, N failed` over all of them.
//
//   node scripts/test.mjs [--only PART,PART] [--skips-fail] [--totals FILE]
//
// PART is `checks` or a vitest project. Default: everything that needs no lab. `--skips-fail` (CI: HAL0_TEST_SKIPS_FAIL=1): a skipped test that
// starts an engine or the lab is a failed one. `--totals FILE` (HAL0_TEST_TOTALS): also writes the sums there as JSON.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { checks } from './gates/checks.mjs'
import { sumTotals, totalsOf } from './gates/totals.mjs'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'checks,unit,gates,contract,gateway,engines' },
    'skips-fail': { type: 'boolean', default: process.env.HAL0_TEST_SKIPS_FAIL === '1' },
    totals: { type: 'string', default: process.env.HAL0_TEST_TOTALS ?? '' },
  },
})
/** Projects whose tests need tools that CI installs. */
const toolProjects = new Set(['contract', 'gateway', 'engines', 'lab'])
/** A run that takes longer hangs. */
const runLimitMs = 25 * 60_000

/** Runs a command on this terminal; resolves with its exit code, null when it was killed. */
function run([program, ...args], stdio) {
  return new Promise((resolve, reject) => {
    const output = []
    const child = spawn(program, args, { stdio })
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => output.push(chunk))
    const timer = setTimeout(() => child.kill('SIGKILL'), runLimitMs)
    child.on('error', reject)
    child.on('close', (exitCode) => {
      clearTimeout(timer)
      resolve({ exitCode, output: Buffer.concat(output).toString() })
    })
  })
}

async function runCheck({ name, command }) {
  const started = performance.now()
  const { exitCode, output } = await run(command, ['ignore', 'pipe', 'pipe'])
  const ok = exitCode === 0
  console.log(`${ok ? 'ok  ' : 'FAIL'} ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`)
  if (!ok) console.log(output.trimEnd().replace(/^/gm, '     '))
  return { passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: [], complaints: ok ? [] : [`the check '${name}' failed`] }
}

async function runProject(name, folder) {
  const reportPath = join(folder, `${name}.json`)
  console.log(`\n== ${name} ==`)
  const vitest = ['node_modules/.bin/vitest', 'run', '--project', name, '--reporter=default', '--reporter=json']
  const { exitCode } = await run([...vitest, `--outputFile.json=${reportPath}`], ['ignore', 'inherit', 'inherit'])
  return totalsOf(name, readReport(reportPath), exitCode, values['skips-fail'] && toolProjects.has(name))
}

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined // no report, or half of one: the run crashed
  }
}

const folder = mkdtempSync(join(tmpdir(), 'hal0-test-'))
const parts = []
try {
  for (const part of values.only.split(',')) {
    if (part !== 'checks') parts.push(await runProject(part, folder))
    else for (const check of checks) parts.push(await runCheck(check))
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
const totals = sumTotals(parts)
if (values.totals !== '') writeFileSync(values.totals, JSON.stringify(totals))
console.log('')
for (const name of totals.skipped) console.log(`skipped: ${name}`)
for (const text of totals.complaints) console.log(text)
console.log(`${totals.passed} passed, ${totals.failed} failed`)
process.exitCode = totals.failed > 0 || totals.passed === 0 ? 1 : 0
