import { type EngineCookie, formatCookie, parseCookie } from './engine-cookie.ts'
import type { SeenProcess } from './family.ts'
import { isDead } from './proc-text.ts'

export interface SurvivorFacts {
  readonly cookie: EngineCookie
  readonly cookieText: string
  /** The process that stands for the engine. */
  readonly main: SeenProcess
  /** The group that hal0 made, if the process it started still leads it. */
  readonly groupId: number | undefined
}

/** An engine that a record names: it may have cleared the environment that would carry its cookie. */
export interface RecordedEngine {
  readonly slot: string
  readonly attemptId: string
  readonly pid: number
  readonly startTicks: number
}

/**
 * Those of the recorded engines that live and were not found by their cookie. A pid with another start time is another process.
 * Source: SPEC 4 "Adoption": boot id + pid + start time.
 */
export function chooseRecorded(
  table: readonly SeenProcess[],
  recorded: readonly RecordedEngine[],
  options: { readonly homeId: string; readonly selfPid: number; readonly found: readonly SurvivorFacts[] },
): readonly SurvivorFacts[] {
  return recorded.flatMap(({ slot, attemptId, pid, startTicks }) => {
    const main = table.find((seen) => seen.pid === pid && seen.startTicks === startTicks && !isDead(seen))
    const cookie = { homeId: options.homeId, slot, attemptId }
    const cookieText = formatCookie(cookie)
    if (main === undefined || pid === options.selfPid) return []
    // Whatever still carries a cookie speaks for itself.
    if (main.cookie !== undefined && main.cookie !== cookieText) return []
    if (options.found.some((facts) => facts.main.pid === pid || facts.cookieText === cookieText)) return []
    return [{ cookie, cookieText, main, groupId: main.pid === main.groupId ? main.pid : undefined }]
  })
}

/**
 * The engines of a home among the processes of a machine, one per attempt, in the order of the table. `isOwn` names the
 * cookies that are not left over (started by the asker). Source: SPEC 4 "Adoption".
 */
export function chooseSurvivors(
  table: readonly SeenProcess[],
  options: { readonly homeId: string; readonly selfPid: number; readonly isOwn: (cookie: string) => boolean },
): readonly SurvivorFacts[] {
  const byCookie = new Map<string, SeenProcess[]>()
  for (const seen of table) {
    if (seen.cookie === undefined || isDead(seen) || seen.pid === options.selfPid) continue
    if (options.isOwn(seen.cookie)) continue
    byCookie.set(seen.cookie, [...(byCookie.get(seen.cookie) ?? []), seen])
  }
  return [...byCookie].flatMap(([cookieText, carriers]) => {
    const cookie = parseCookie(cookieText)
    const main = carriers.toSorted(mainFirst)[0]
    if (cookie === undefined || cookie.homeId !== options.homeId || main === undefined) return []
    const leads = main.pid === main.groupId && main.pid === main.sessionId
    return [{ cookie, cookieText, main, groupId: leads ? main.pid : undefined }]
  })
}

/**
 * The oldest stands for the engine: the process hal0 started, or, when that was a wrapper and is gone, what it left. A wrapper and
 * its child may start within one tick: then the session's leader is the older one.
 */
function mainFirst(a: SeenProcess, b: SeenProcess): number {
  const leads = (seen: SeenProcess) => (seen.pid === seen.sessionId ? 0 : 1)
  return a.startTicks - b.startTicks || leads(a) - leads(b) || a.pid - b.pid
}
