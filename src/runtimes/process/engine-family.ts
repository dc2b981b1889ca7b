import type { StopSignal } from '../../contract/launch-plan.ts'
import { errnoOf } from '../../kernel/errors.ts'
import type { Log } from '../../kernel/log.ts'
import { hasChildren, isAlive, lookAtProcesses, readProcStat, readUpTicks } from './proc.ts'
import { type Family, familyOf, type SeenProcess } from './rules/family.ts'
import { isDead } from './rules/proc-text.ts'

type Signal = StopSignal | 'SIGKILL'

/** What names an engine from outside. */
export interface EngineIdentity {
  readonly pid: number
  readonly startTicks: number
  /** The exact value of HAL0_ENGINE. */
  readonly cookie: string
  /** See FamilyFacts.groupId. */
  readonly groupId: number | undefined
  /** What a stop begins with; absent = SIGTERM. */
  readonly stopSignal?: StopSignal | undefined
}

/** All processes of one engine: finds them, signals them, and never anybody else. */
export class EngineFamily {
  readonly #engine: EngineIdentity
  readonly #log: Log
  /** Start ticks by pid of everything that was seen to belong to the engine. */
  readonly #known: Map<number, number>
  /** Those that have had their SIGTERM: llama-server takes a second one as "drop everything". */
  readonly #asked = new Set<string>()
  readonly #askWith: StopSignal
  #groupWasAsked = false
  /** When the group was asked before anybody had looked: who was in it by then has heard it. Ticks since boot. */
  #groupAskedAtTicks = Number.NEGATIVE_INFINITY
  /** Whose environment was read and is not the engine's; it stays that of others. Start ticks by pid. */
  readonly #strangers = new Map<number, number>()
  /** Members of another user: they cannot be ended by us, so a stop does not wait for them. */
  readonly #foreign = new Set<string>()

  constructor(engine: EngineIdentity, log: Log) {
    this.#engine = engine
    this.#log = log
    this.#askWith = engine.stopSignal ?? 'SIGTERM'
    this.#known = new Map([[engine.pid, engine.startTicks]])
  }

  /** Whether nothing that was seen so far is alive. Cheap; says nothing about what was not seen. */
  areKnownDead(): boolean {
    return [...this.#known].every(([pid, startTicks]) => {
      return this.#foreign.has(keyOf({ pid, startTicks })) || !isAlive(pid, startTicks)
    })
  }

  /** Everything of the engine that is alive. Looks again before it says "nobody": a child may hide from one look by a fork. */
  async look(): Promise<Family> {
    const first = await this.#lookOnce()
    return first.members.length > 0 ? first : await this.#lookOnce()
  }

  /**
   * Sends the same to an engine of one process before any look, which takes longer than many engines take to end. Only while that process
   * lives and leads its group, for then the group is the engine's; and only while it has no children: they can be told by their parent
   * alone, so they have to be seen before it goes. False = nobody was asked. Throws as `readProcStat`.
   */
  askGroupNow(): boolean {
    const { groupId, pid, startTicks } = this.#engine
    if (this.#groupWasAsked || groupId !== pid) return false
    const leader = readProcStat(pid)
    if (leader?.startTicks !== startTicks || leader.groupId !== groupId || isDead(leader)) return false
    if (hasChildren(pid)) return false
    const atTicks = readUpTicks()
    if (send(-groupId, this.#askWith) !== '') return false
    this.#groupWasAsked = true
    this.#groupAskedAtTicks = atTicks
    this.#asked.add(keyOf({ pid, startTicks }))
    return true
  }

  /** Sends SIGTERM (or what the engine wants instead), at most one to each. */
  ask(family: Family): void {
    for (const member of family.members) if (this.#heardEarly(member)) this.#asked.add(keyOf(member))
    const fresh = family.members.filter((member) => !this.#asked.has(keyOf(member)))
    const byGroup = this.#groupWasAsked ? [] : this.#signalGroup(family, this.#askWith)
    this.#groupWasAsked ||= byGroup.length > 0
    for (const member of fresh) {
      this.#asked.add(keyOf(member))
      if (!byGroup.includes(member)) this.#signal(member, this.#askWith)
    }
  }

  #heardEarly({ groupId, startTicks }: SeenProcess): boolean {
    return groupId === this.#engine.groupId && startTicks < this.#groupAskedAtTicks
  }

  /** Sends SIGKILL. To each as well: only so does a member of another user show, whom the group's signal passes over silently. */
  kill(family: Family): void {
    this.#signalGroup(family, 'SIGKILL')
    for (const member of family.members) {
      if (this.#signal(member, 'SIGKILL') === 'EPERM') this.#giveUpOn(member)
    }
  }

  async #lookOnce(): Promise<Family> {
    // Nothing of the engine is older than its first process, and what is known needs no proof.
    const table = await lookAtProcesses(
      ({ pid, startTicks }) =>
        startTicks >= this.#engine.startTicks &&
        this.#known.get(pid) !== startTicks &&
        this.#strangers.get(pid) !== startTicks,
    )
    for (const { pid, startTicks, cookie, isEnvironKnown } of table) {
      if (isEnvironKnown === true && cookie !== this.#engine.cookie) this.#strangers.set(pid, startTicks)
    }
    const family = familyOf(table, {
      cookie: this.#engine.cookie,
      groupId: this.#engine.groupId,
      known: this.#known,
      selfPid: process.pid,
    })
    const members = family.members.filter((member) => !this.#foreign.has(keyOf(member)))
    for (const member of members) this.#known.set(member.pid, member.startTicks)
    return { ...family, members }
  }

  /** The whole group at once, so that nobody in it forks away. Returns who has heard it; nobody when it is not (or no longer) the engine's. */
  #signalGroup(family: Family, signal: Signal): readonly SeenProcess[] {
    const { groupId } = this.#engine
    if (groupId === undefined || !family.ownsGroup) return []
    const inGroup = family.members.filter((member) => member.groupId === groupId)
    if (!inGroup.some((member) => isAlive(member.pid, member.startTicks))) return []
    send(-groupId, signal)
    // Whoever left the group since the look has not heard it.
    return inGroup.filter((member) => (readProcStat(member.pid)?.groupId ?? groupId) === groupId)
  }

  /** Looks once more right before, for pids are used again. Returns the system's error name, or ''. */
  #signal(member: SeenProcess, signal: Signal): string {
    return isAlive(member.pid, member.startTicks) ? send(member.pid, signal) : ''
  }

  #giveUpOn(member: SeenProcess): void {
    this.#foreign.add(keyOf(member))
    this.#log.warn({ pid: member.pid }, 'a process of the engine runs as another user and cannot be stopped by hal0')
  }
}

function keyOf(process: { readonly pid: number; readonly startTicks: number }): string {
  return `${process.pid}@${process.startTicks}`
}

/** Returns the system's error name, or '' when it was sent. */
function send(target: number, signal: Signal): string {
  try {
    process.kill(target, signal)
    return ''
  } catch (thrown) {
    return errnoOf(thrown) ?? ''
  }
}
