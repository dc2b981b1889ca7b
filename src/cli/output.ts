import Table from 'cli-table3'

/** For a terminal that does not know its width (it then says 0). */
const FALLBACK_COLUMNS = 80

/** Where a command writes. Results go to stdout, everything said to people on the way goes to stderr. */
export interface Output {
  readonly json: boolean
  /** One JSON document with `--json`, else the text. */
  result(value: unknown, text: () => string): void
  /** Rows: aligned with a head on a terminal, tab-separated without one in a pipe. */
  table(head: readonly string[], rows: readonly (readonly string[])[]): string
  /** To stdout as it is, for streams. */
  write(text: string): void
  /** A line for people, to stderr. */
  note(line: string): void
  /** A step of long work as a line in a pipe; a terminal has `progress`. */
  step(line: string): void
  /** Replaces the last line on a terminal; says nothing in a pipe. `undefined` wipes it. */
  progress(line: string | undefined): void
}

export function createOutput(options: {
  readonly json: boolean
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
}): Output {
  const { json, stdout, stderr } = options
  let progressShown = false
  const wipe = () => {
    if (progressShown) stderr.write('\r\x1b[K')
    progressShown = false
  }
  return {
    json,
    result(value, text) {
      wipe()
      stdout.write(json ? `${JSON.stringify(value, null, 2)}\n` : withNewline(text()))
    },
    table: (head, rows) => (stdout.isTTY ? alignedTable(head, rows) : plainLines(rows)),
    write: (text) => void stdout.write(text),
    note(line) {
      wipe()
      stderr.write(`${line}\n`)
    },
    step(line) {
      if (!stderr.isTTY) stderr.write(`${line}\n`)
    },
    progress(line) {
      if (!stderr.isTTY) return
      wipe()
      if (line === undefined) return
      stderr.write(line.slice(0, Math.max(0, (stderr.columns || FALLBACK_COLUMNS) - 1)))
      progressShown = true
    },
  }
}

function withNewline(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}

function plainLines(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => row.map(oneLine).join('\t')).join('\n')
}

function alignedTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const borders = [
    'top',
    'top-mid',
    'top-left',
    'top-right',
    'bottom',
    'bottom-mid',
    'bottom-left',
    'bottom-right',
  ] as const
  const inner = ['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid', 'middle'] as const
  const table = new Table({
    head: [...head],
    chars: Object.fromEntries([...borders, ...inner].map((name) => [name, name === 'middle' ? '  ' : ''])),
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  })
  table.push(...rows.map((row) => row.map(oneLine)))
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
}

/** Engine output and file names may hold control characters; a table cell must not move the cursor. */
function oneLine(cell: string): string {
  return cell.replaceAll(/\p{Cc}+/gu, ' ')
}
