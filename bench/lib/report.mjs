// The table for people, in a terminal or as Markdown, and the JSON for machines.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import Table from 'cli-table3'

/** `engine` is the engine's own time, measured by hand, where a line has that. */
const COLUMNS = ['direct', 'engine', 'nginx', 'bare', 'hal0']

/** @param {number | undefined} value @param {string} unit */
function show(value, unit) {
  if (value === undefined || !Number.isFinite(value)) return ''
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2
  return `${Number(value.toFixed(digits)).toLocaleString('en-US')} ${unit}`.trim()
}

/** @param {import('./verdict.mjs').Verdict | null} verdict */
function showVerdict(verdict) {
  if (verdict === null) return ''
  const ratio = verdict.ratio === null ? '' : ` (${verdict.ratio.toFixed(2)} ×)`
  return `${verdict.text}: ${verdict.isMet ? 'passed' : 'MISSED'}${ratio}`
}

/** @param {ReturnType<typeof import('./verdict.mjs').rowsOf>} rows */
function cellsOf(rows) {
  const columns = COLUMNS.filter((side) => rows.some((row) => row.value[side] !== undefined))
  return {
    head: ['', ...columns, 'gate', 'goal'],
    body: rows.map((row) => [
      row.name,
      ...columns.map((side) => show(row.value[side], row.unit)),
      showVerdict(row.gate),
      showVerdict(row.goal),
    ]),
  }
}

/** @param {ReturnType<typeof import('./verdict.mjs').rowsOf>} rows */
export function tableOf(rows) {
  const { head, body } = cellsOf(rows)
  const colAligns = head.map((_, i) => /** @type {const} */ (i === 0 || i >= head.length - 2 ? 'left' : 'right'))
  const table = new Table({ head, colAligns, style: { head: [], border: [] } })
  table.push(...body)
  return table.toString()
}

/** @param {ReturnType<typeof import('./verdict.mjs').rowsOf>} rows */
export function markdownOf(rows) {
  const { head, body } = cellsOf(rows)
  const line = (/** @type {string[]} */ cells) => `| ${cells.join(' | ')} |`
  const rule = head.map((_, i) => (i === 0 || i >= head.length - 2 ? '---' : '---:'))
  return [line(head), line(rule), ...body.map(line)].join('\n')
}

/** @param {string} path @param {unknown} report */
export function writeReport(path, report) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `${JSON.stringify(report, null, 1)}\n`)
}

/** @param {string} root */
export function versionOf(root) {
  return JSON.parse(readFileSync(`${root}/package.json`, 'utf8')).version
}
