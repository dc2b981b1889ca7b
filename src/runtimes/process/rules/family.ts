import { isDead, type ProcStat } from './proc-text.ts'

/** One row of a look at /proc. `cookie` is undefined when it has none, or may not be read. */
export interface SeenProcess extends ProcStat {
  readonly cookie: string | undefined
  /** Its environment was read in this look, and it has one. */
  readonly isEnvironKnown?: boolean
}

/** What is known about one engine before the look. */
export interface FamilyFacts {
  readonly cookie: string
  /**
   * The process group and session that hal0 made for the engine (its first process' id); undefined when that process is gone and
   * was never ours to watch: then a group number proves nothing.
   */
  readonly groupId: number | undefined
  /** Start ticks by pid of processes that belonged to it in an earlier look. */
  readonly known: ReadonlyMap<number, number>
  /** The daemon itself: never part of an engine, whatever its environment says. */
  readonly selfPid: number
}

export interface Family {
  /** Alive, in the order of the look. */
  readonly members: readonly SeenProcess[]
  /** Whether the group number is provably still the engine's, so that the group may be signalled. */
  readonly ownsGroup: boolean
}

/**
 * Which living processes belong to an engine. Certain are those with its exact cookie and those known before (same pid *and*
 * start: a recycled pid is neither). From there: children of members, and everything in the engine's own group and session as long as
 * somebody certain is in it, for the kernel does not hand out a pid that still names a group or session. Source: SPEC 5 "Stop".
 */
export function familyOf(table: readonly SeenProcess[], facts: FamilyFacts): Family {
  const alive = table.filter((seen) => !isDead(seen) && seen.pid > 1 && seen.pid !== facts.selfPid)
  const certain = alive.filter((seen) => seen.cookie === facts.cookie || facts.known.get(seen.pid) === seen.startTicks)
  const { groupId } = facts
  const ownsGroup = groupId !== undefined && certain.some((seen) => seen.groupId === groupId)
  const ownsSession = groupId !== undefined && certain.some((seen) => seen.sessionId === groupId)

  const pids = new Set(certain.map((seen) => seen.pid))
  for (const seen of alive) {
    if (ownsGroup && seen.groupId === groupId) pids.add(seen.pid)
    if (ownsSession && seen.sessionId === groupId) pids.add(seen.pid)
  }
  let before: number
  do {
    before = pids.size
    for (const seen of alive) if (pids.has(seen.parentPid)) pids.add(seen.pid)
  } while (pids.size > before)
  return { members: alive.filter((seen) => pids.has(seen.pid)), ownsGroup }
}
