// The table for people and the JSON for machines.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { dirname } from 'node:path'
import Table from 'cli-table3'
import { medians } from './stats.mjs'

const GIB = 1024 ** 3

export function machine() {
  const [cpu] = cpus()
  return {
    cores: cpus().length,
    cpu: cpu?.model ?? 'unknown',
    memory_gib: Math.round(totalmem() / GIB),
    node: process.version,
    kernel: execFileSync('uname', ['-sr'], { encoding: 'utf8' }).trim(),
  }
}

/** @param {number} value @param {string} unit */
function show(value, unit) {
  if (!Number.isFinite(value)) return '-'
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2
  return `${value.toFixed(digits)} ${unit}`
}

/** One line's rows with medians over the rounds. @param {import('./line.mjs').Outcome} outcome */
export function rowsOf(outcome) {
  const direct = medians(outcome.direct)
  const hal0 = medians(outcome.hal0)
  return outcome.rows.map((row) => {
    const d = direct[row.key]
    const h = hal0[row.key] ?? Number.NaN
    const isBoth = d !== undefined
    return {
      name: row.name,
      unit: row.unit,
      direct: d ?? null,
      hal0: h,
      added: isBoth && row.isMoreBetter !== true ? h - d : null,
      ratio: isBoth ? h / d : null,
    }
  })
}

/** @param {ReturnType<typeof rowsOf>} rows */
export function tableOf(rows) {
  const table = new Table({
    head: ['', 'direct', 'through hal0', 'added', 'ratio'],
    colAligns: ['left', 'right', 'right', 'right', 'right'],
    style: { head: [], border: [] },
  })
  for (const r of rows) {
    table.push([
      r.name,
      r.direct === null ? '' : show(r.direct, r.unit),
      show(r.hal0, r.unit),
      r.added === null ? '' : show(r.added, r.unit),
      r.ratio === null ? '' : `× ${r.ratio.toFixed(2)}`,
    ])
  }
  return table.toString()
}

/** @param {string} path @param {unknown} report */
export function writeReport(path, report) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `${JSON.stringify(report, null, 2)}\n`)
}

/** @param {string} root */
export function versionOf(root) {
  return JSON.parse(readFileSync(`${root}/package.json`, 'utf8')).version
}
