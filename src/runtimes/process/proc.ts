import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ProcessRef } from '../../contract/slot-state.ts'
import { COOKIE_ENV } from './rules/engine-cookie.ts'
import type { SeenProcess } from './rules/family.ts'
import { environValue, isDead, type ProcStat, parseProcStat } from './rules/proc-text.ts'

/** Gone in the middle of the look, or another user's: nothing to report. Anything else (EMFILE…) must not look like "dead". */
const GONE = new Set(['ENOENT', 'ESRCH'])
const UNREADABLE = new Set([...GONE, 'EACCES', 'EPERM'])

/** Reads of /proc/PID/stat between two turns of the event loop: some hundred microseconds. */
const STATS_PER_TURN = 64

/** The process' line in /proc, zombies too; undefined = there is none. Throws when /proc cannot be read (no file descriptors left…). */
export function readProcStat(pid: number): ProcStat | undefined {
  try {
    return parseProcStat(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch (thrown) {
    if (GONE.has(errnoOf(thrown))) return undefined
    throw thrown
  }
}

/** Whether this very process (not another with the same pid) is alive. Throws as `readProcStat`. */
export function isAlive(pid: number, startTicks: number): boolean {
  const stat = readProcStat(pid)
  return stat !== undefined && stat.startTicks === startTicks && !isDead(stat)
}

/** Whether the process a record names is alive on this boot; a recycled pid is not. Source: SPEC 4 "Adoption". */
export function isSameProcess(ref: ProcessRef): boolean {
  return ref.boot_id === readBootId() && isAlive(ref.pid, ref.start_ticks)
}

/** Changes with every boot of the machine. */
export function readBootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
}

/**
 * Every process of the machine; the cookie only of those that `wantsCookie` accepts. Quiet about what vanishes meanwhile or may
 * not be read. Throws as `readProcStat`.
 */
export async function lookAtProcesses(wantsCookie: (stat: ProcStat) => boolean): Promise<SeenProcess[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const table: SeenProcess[] = []
  let sinceTurn = 0
  for (const pid of pids) {
    const stat = readProcStat(pid)
    if (stat === undefined) continue
    table.push({ ...stat, cookie: wantsCookie(stat) && !isDead(stat) ? await readCookie(pid) : undefined })
    sinceTurn += 1
    if (sinceTurn % STATS_PER_TURN === 0) await nextTurn()
  }
  return table
}

/** Not with a synchronous read: it waits for locks of the other process' memory, and the daemon serves meanwhile. */
async function readCookie(pid: number): Promise<string | undefined> {
  try {
    return environValue(await readFile(`/proc/${pid}/environ`, 'utf8'), COOKIE_ENV)
  } catch (thrown) {
    if (UNREADABLE.has(errnoOf(thrown))) return undefined
    throw thrown
  }
}

/** The system's error name, or ''. */
export function errnoOf(thrown: unknown): string {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
  return typeof code === 'string' ? code : ''
}
