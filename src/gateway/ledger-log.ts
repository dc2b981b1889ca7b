import type { RequestReader } from '../contract/usage.ts'
import { isoTime, SECOND_MS } from '../kernel/units.ts'
import { requestFacts } from './rules/request-facts.ts'

/** pino's number of `info`; what says that a line is the end of a request. */
const INFO = 30
const MESSAGE = 'request'

/**
 * One line per request in the format of the daemon's log, all lines of a batch in one write. `write`: the log's own door for lines that are made
 * elsewhere; undefined = this level is not written, and nothing is built. Source: SPEC 17.
 */
export function createRequestLog(write: ((lines: string) => void) | undefined): RequestReader {
  if (write === undefined) return () => {}
  const timeText = createTimeText()
  return (records, usages) => {
    let lines = ''
    records.forEach((record, n) => {
      // Half of the cost of a line is its time, and copying the facts behind it.
      const facts = JSON.stringify(requestFacts(record, usages[n] ?? null)).slice(1, -1)
      lines += `{"level":${INFO},"time":"${timeText(record.endedMs)}",${facts},"msg":"${MESSAGE}"}\n`
    })
    write(lines)
  }
}

/** `isoTime` for times that are often of the same second. */
function createTimeText(): (epochMs: number) => string {
  let second = Number.NaN
  let head = ''
  return (epochMs) => {
    const now = Math.floor(epochMs / SECOND_MS)
    if (now !== second) {
      head = isoTime(now * SECOND_MS).slice(0, -4)
      second = now
    }
    return `${head}${String(Math.floor(epochMs - now * SECOND_MS)).padStart(3, '0')}Z`
  }
}
