// Finds processes that a CI run left behind. Used by .ci/run:
//
//   node scripts/leftovers.mjs --before FILE   notes which processes of this checkout run already
//   node scripts/leftovers.mjs --after FILE    fails, naming them, when others are alive now and stay so for 5 seconds
//
// A process is of this run when it carries the run's mark (HAL0_CI_RUN) in its environment, or works in or names this checkout.
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'

const { values } = parseArgs({ options: { before: { type: 'string' }, after: { type: 'string' } } })
const root = process.cwd()
const mark = process.env.HAL0_CI_RUN

/** `read(path)`, or '' for a process that has gone meanwhile or is not ours to read. */
function orNothing(read, path) {
  try {
    return String(read(path))
  } catch {
    return ''
  }
}

/** Parent and identity of a live process; undefined for none and for a zombie, which only waits to be collected. */
function statOf(pid) {
  // The name in parentheses may itself hold spaces and parentheses.
  const fields = orNothing(readFileSync, `/proc/${pid}/stat`).split(') ').at(-1)?.split(' ') ?? []
  return fields.length < 20 || fields[0] === 'Z' ? undefined : { parent: fields[1], id: `${pid}@${fields[19]}` }
}

/** This process and everything it was started by: they end after the check. */
function ancestry() {
  const own = new Set()
  for (let pid = String(process.pid); pid !== '0'; pid = statOf(pid)?.parent ?? '0') own.add(pid)
  return own
}

function ofThisRun(pid) {
  const environment = orNothing(readFileSync, `/proc/${pid}/environ`).split('\0')
  if (mark !== undefined && environment.includes(`HAL0_CI_RUN=${mark}`)) return true
  const folder = orNothing(readlinkSync, `/proc/${pid}/cwd`)
  return `${folder}/`.startsWith(`${root}/`) || orNothing(readFileSync, `/proc/${pid}/cmdline`).includes(`${root}/`)
}

function found() {
  const own = ancestry()
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && !own.has(name))
    .map((pid) => ({ pid, id: statOf(pid)?.id }))
    .filter(({ pid, id }) => id !== undefined && ofThisRun(pid))
}

function describe({ pid }) {
  return `left behind: pid ${pid}: ${orNothing(readFileSync, `/proc/${pid}/cmdline`).replaceAll('\0', ' ').slice(0, 200)}`
}

if (values.before !== undefined) {
  writeFileSync(values.before, JSON.stringify(found().map(({ id }) => id)))
} else {
  const before = new Set(JSON.parse(readFileSync(values.after ?? '', 'utf8')))
  const leftovers = () => found().filter(({ id }) => !before.has(id))
  const deadlineMs = performance.now() + 5000
  while (leftovers().length > 0 && performance.now() < deadlineMs) await sleep(100)
  const rest = leftovers()
  for (const one of rest) console.error(describe(one))
  console.log(`leftovers: ${rest.length} processes`)
  process.exitCode = rest.length > 0 ? 1 : 0
}
