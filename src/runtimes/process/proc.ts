import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import { errnoOf } from '../../kernel/errors.ts'
import { COOKIE_ENV } from './rules/engine-cookie.ts'
import type { SeenProcess } from './rules/family.ts'
import { environValue, isDead, type ProcStat, parseProcStat } from './rules/proc-text.ts'

/** Gone in the middle of the look, or another user's: nothing to report. Anything else (EMFILE…) must not look like "dead". */
const GONE: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ESRCH'])
const UNREADABLE: ReadonlySet<string | undefined> = new Set([...GONE, 'EACCES', 'EPERM'])

/** Reads of /proc/PID/stat between two turns of the event loop: some hundred microseconds. */
const STATS_PER_TURN = 64

/** USER_HZ, which is part of Linux' promise to programs. */
const TICKS_PER_SECOND = 100

/** How long an environment that reads as empty may be one between two programs. */
const EXEC_ROUND_MS = 5
const EXEC_ROUNDS = 4

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

/** The words of this very process' command line; undefined = it is gone, or became another between two looks. Throws as `readProcStat`. */
export async function readArgv(pid: number, startTicks: number): Promise<readonly string[] | undefined> {
  try {
    const text = await readFile(`/proc/${pid}/cmdline`, 'utf8')
    // A zombie has none.
    return isAlive(pid, startTicks) && text !== '' ? text.replace(/\0$/, '').split('\0') : undefined
  } catch (thrown) {
    if (UNREADABLE.has(errnoOf(thrown))) return undefined
    throw thrown
  }
}

/** Whether the process has started others that are alive; `true` where the kernel does not say. */
export function hasChildren(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/task`).some(
      (thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1').trim() !== '',
    )
  } catch {
    return true
  }
}

/** Clock ticks since boot, as `startTicks` counts them; a tick is 10 ms wherever programs see one. */
export function readUpTicks(): number {
  return Math.floor(Number.parseFloat(readFileSync('/proc/uptime', 'latin1')) * TICKS_PER_SECOND)
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
  // At once: a start waits for this look, and no disk is asked; the pool of threads is often busy with writes that reach one.
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger)
  const table: SeenProcess[] = []
  let unsure: ProcStat[] = []
  for (const [index, pid] of pids.entries()) {
    if (index > 0 && index % STATS_PER_TURN === 0) await nextTurn()
    const stat = readProcStat(pid)
    if (stat === undefined) continue
    const environ = wantsCookie(stat) && canHoldCookie(stat) ? await readEnviron(pid) : undefined
    if (environ === '') unsure.push(stat)
    else table.push(seen(stat, environ))
  }
  for (let round = 0; unsure.length > 0 && round < EXEC_ROUNDS; round += 1) {
    await delay(EXEC_ROUND_MS)
    const still: ProcStat[] = []
    for (const stat of unsure) {
      const environ = await readEnviron(stat.pid)
      if (environ === '' && round < EXEC_ROUNDS - 1) still.push(stat)
      else table.push(seen(stat, environ))
    }
    unsure = still
  }
  return table
}

function seen(stat: ProcStat, environ: string | undefined): SeenProcess {
  if (environ === undefined || environ === '') return { ...stat, cookie: undefined }
  return { ...stat, cookie: environValue(environ, COOKIE_ENV), isEnvironKnown: true }
}

/** Zombies have no environment any more, threads of the kernel never had one. */
function canHoldCookie(stat: ProcStat): boolean {
  return !isDead(stat) && !stat.isKernelThread
}

/**
 * '' = it has none, or is just becoming another program (exec) and will have one in a moment. Not with a synchronous read: this one
 * waits for locks of the other process' memory, and the daemon serves meanwhile.
 */
async function readEnviron(pid: number): Promise<string | undefined> {
  try {
    return await readFile(`/proc/${pid}/environ`, 'utf8')
  } catch (thrown) {
    if (UNREADABLE.has(errnoOf(thrown))) return undefined
    throw thrown
  }
}
