/** What /proc/PID/stat says about a process. Ids are process ids; `startTicks` counts clock ticks since boot. */
export interface ProcStat {
  readonly pid: number
  /** R, S, D, T, Z, X…, see proc(5). */
  readonly state: string
  readonly parentPid: number
  readonly groupId: number
  readonly sessionId: number
  readonly threads: number
  readonly startTicks: number
  readonly isKernelThread: boolean
}

/** Places of fields 4, 5, 6, 9, 20 and 22 of proc(5), counted from field 3, the first behind the name. */
const FIELD = { parentPid: 1, groupId: 2, sessionId: 3, flags: 6, threads: 17, startTicks: 19 } as const

/** PF_KTHREAD in the flags. */
const KERNEL_THREAD_BIT = 21

/** Reads one line of /proc/PID/stat; undefined = it is no such line. The name (field 2) may hold spaces and parentheses. */
export function parseProcStat(text: string): ProcStat | undefined {
  const nameStart = text.indexOf(' (')
  const nameEnd = text.lastIndexOf(') ')
  if (nameStart < 1 || nameEnd < nameStart) return undefined
  const fields = text.slice(nameEnd + 2).split(' ')
  const state = fields[0]
  const field = (place: number) => Number(fields[place] ?? Number.NaN)
  const stat = {
    pid: Number(text.slice(0, nameStart)),
    state: state ?? '',
    parentPid: field(FIELD.parentPid),
    groupId: field(FIELD.groupId),
    sessionId: field(FIELD.sessionId),
    threads: field(FIELD.threads),
    startTicks: field(FIELD.startTicks),
    isKernelThread: Math.floor(field(FIELD.flags) / 2 ** KERNEL_THREAD_BIT) % 2 === 1,
  }
  const numbers = [stat.pid, stat.parentPid, stat.groupId, stat.sessionId, stat.threads, stat.startTicks]
  return stat.state !== '' && numbers.every(Number.isSafeInteger) ? stat : undefined
}

/**
 * Whether a process has ended. A zombie has, unless only its first thread ended: then the others still hold memory and GPUs.
 */
export function isDead(stat: Pick<ProcStat, 'state' | 'threads'>): boolean {
  if (stat.state === 'X' || stat.state === 'x') return true
  return stat.state === 'Z' && stat.threads <= 1
}

/** The value of a variable in the text of /proc/PID/environ, the first if it is there twice (as getenv has it). */
export function environValue(environ: string, name: string): string | undefined {
  const entry = `${name}=`
  // The NUL in front makes the first variable look like the others; it also makes up for the NUL that is searched for.
  const start = `\0${environ}`.indexOf(`\0${entry}`)
  if (start === -1) return undefined
  const end = environ.indexOf('\0', start)
  return environ.slice(start + entry.length, end === -1 ? undefined : end)
}
