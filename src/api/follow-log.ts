import type { Stats } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { type Clock, sleep } from '../kernel/clock.ts'
import { undefinedIfMissing } from '../kernel/errors.ts'
import { KIB, MIB, SECOND_MS } from '../kernel/units.ts'
import { createLineSplitter } from './line-splitter.ts'

/** How often a followed log is looked at: quick for a reader, cheap for many of them. */
const POLL_MS = 250
/** A line that has not ended is shown after so long without more of it (last words often lack the line end). */
const QUIET_MS = SECOND_MS
const CHUNK_BYTES = 64 * KIB
/** Where the search for the last lines begins, before the end. */
const BACKLOG_BYTES = 4 * MIB

/** `rotated`: the file was cut or replaced; lines before it may be missing. */
export type LogPiece = { readonly kind: 'lines'; readonly lines: readonly string[] } | { readonly kind: 'rotated' }

export interface FollowOptions {
  readonly clock: Clock
  /** Of what is there already, this many last lines come first; 0 = none. */
  readonly backlogLines: number
  /** Ends the generator, within one look. */
  readonly signal: AbortSignal
}

/**
 * A log as it grows, for as long as someone takes what it yields: the file itself is the buffer, at most one chunk is in memory.
 * A file that is not there yet is waited for. Throws the system's error when it may not be read. Source: SPEC 16 `logs/stream`.
 */
export async function* followLog(path: string, options: FollowOptions): AsyncGenerator<LogPiece, void, void> {
  const { clock, signal } = options
  let splitter = createLineSplitter()
  let identity: string | undefined
  let offset = 0
  let lastGrowthMs = clock.monotonicMs()
  let backlog: Backlog | undefined

  const first = await stat(path).catch(undefinedIfMissing)
  if (first !== undefined) {
    identity = identityOf(first)
    offset = options.backlogLines === 0 ? first.size : Math.max(0, first.size - BACKLOG_BYTES)
    backlog = { untilBytes: first.size, startsInLine: offset > 0 && options.backlogLines > 0, lines: [] }
  }

  while (!signal.aborted) {
    if (backlog !== undefined && offset >= backlog.untilBytes) {
      if (backlog.lines.length > 0) yield { kind: 'lines', lines: backlog.lines }
      backlog = undefined
    }
    const facts = await stat(path).catch(undefinedIfMissing)
    if (facts !== undefined && identity !== undefined && (identityOf(facts) !== identity || facts.size < offset)) {
      const lines = backlog?.lines ?? []
      const rest = splitter.flush()
      if (rest !== undefined) lines.push(rest)
      if (lines.length > 0) yield { kind: 'lines', lines }
      yield { kind: 'rotated' }
      splitter = createLineSplitter()
      backlog = undefined
      offset = 0
    }
    if (facts !== undefined) identity = identityOf(facts)
    const bytes = facts !== undefined && facts.size > offset ? await readAt(path, offset) : undefined
    if (bytes !== undefined && bytes.length > 0) {
      offset += bytes.length
      lastGrowthMs = clock.monotonicMs()
      const lines = splitter.push(bytes)
      if (backlog !== undefined) keepLast(backlog, lines, options.backlogLines)
      else if (lines.length > 0) yield { kind: 'lines', lines }
      continue
    }
    if (clock.monotonicMs() - lastGrowthMs >= QUIET_MS) {
      const rest = splitter.flush()
      if (rest !== undefined) yield { kind: 'lines', lines: [rest] }
    }
    await sleep(clock, POLL_MS, signal)
  }
}

/** A new file may get the inode of the one it replaces, so its birth counts too. */
function identityOf(facts: Stats): string {
  return `${facts.ino} ${facts.birthtimeMs}`
}

/** What is there when following begins: only the last lines of it are kept, and shown once its end is reached. */
interface Backlog {
  readonly untilBytes: number
  /** Reading begins in the middle of a line, which is then left out. */
  startsInLine: boolean
  readonly lines: string[]
}

function keepLast(backlog: Backlog, lines: readonly string[], count: number): void {
  const whole = backlog.startsInLine ? lines.slice(1) : lines
  if (lines.length > 0) backlog.startsInLine = false
  backlog.lines.push(...whole)
  if (backlog.lines.length > count) backlog.lines.splice(0, backlog.lines.length - count)
}

async function readAt(path: string, offset: number): Promise<Buffer | undefined> {
  const handle = await open(path, 'r').catch(undefinedIfMissing)
  if (handle === undefined) return undefined
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES, offset)
    return buffer.subarray(0, bytesRead)
  } finally {
    await handle.close()
  }
}
