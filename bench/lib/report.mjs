// The table for people, in a terminal or as Markdown, and the JSON for machines.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Table from 'cli-table3'

/** `engine` is the engine's own time, measured by hand, and `one lane` the same with a single lane, where a line has that. */
const COLUMNS = ['direct', 'engine', 'one lane', 'nginx', 'bare', 'hal0']

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

/**
 * One column a run, one line a row of the table: what hal0 had, and how that compares with the gate's yardstick.
 * @param {{ at: string, hal0: string, note?: string, lines: { rows: ReturnType<typeof import('./verdict.mjs').rowsOf> }[] }[]} runs oldest first
 */
export function historyOf(runs) {
  const names = [...new Set(runs.flatMap((run) => run.lines.flatMap((one) => one.rows.map((row) => row.name))))]
  const cellOf = (/** @type {(typeof runs)[number]} */ run, /** @type {string} */ name) => {
    const row = run.lines.flatMap((one) => one.rows).find((one) => one.name === name)
    if (row === undefined) return ''
    const ratio = row.gate?.ratio ?? null
    return `${show(row.value['hal0'], row.unit)}${ratio === null ? '' : ` (${ratio.toFixed(2)} ×)`}`
  }
  const line = (/** @type {string[]} */ cells) => `| ${cells.join(' | ')} |`
  const heads = runs.map((run) => [run.at.slice(0, 10), run.note ?? run.hal0].join(' '))
  return [
    line(['', ...heads]),
    line(['---', ...heads.map(() => '---:')]),
    ...names.map((name) => line([name, ...runs.map((run) => cellOf(run, name))])),
  ].join('\n')
}

/** The runs that were kept in a folder, oldest first. @param {string} folder */
export function readRuns(folder) {
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : []
  return names.toSorted().map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')))
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
