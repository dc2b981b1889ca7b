import type { Clock } from '../../kernel/clock.ts'
import { isoTime } from '../../kernel/units.ts'
import type { SimulationEntry, SimulationFact } from './simulation.ts'
import { wallTimes } from './simulation-words.ts'

/** Writes down what happens in a simulated day. */
export class SimulationJournal {
  readonly #clock: Pick<Clock, 'nowMs'>
  readonly #zone: string
  readonly #entries: SimulationEntry[] = []
  /** What each lane was last said to do. */
  readonly #standing = new Map<string, string>()

  /** `zone`: of the times in what people read. */
  constructor(clock: Pick<Clock, 'nowMs'>, zone: string) {
    this.#clock = clock
    this.#zone = zone
  }

  get entries(): readonly SimulationEntry[] {
    return this.#entries
  }

  /** Times in the words may be ISO 8601 UTC, as the rules say them. */
  add(lane: string, words: string, fact: SimulationFact): void {
    const at = isoTime(this.#clock.nowMs())
    const text = wallTimes(words, at, this.#zone)
    if (fact.kind !== 'lane') return void this.#entries.push({ at, lane, text, ...fact })
    // What a lane passes through within a moment is not told, unless something else was told in between.
    const last = this.#entries.at(-1)
    if (last?.kind === 'lane' && last.lane === lane && last.at === at) {
      this.#entries.pop()
      const before = this.#entries.findLast((entry) => entry.kind === 'lane' && entry.lane === lane)
      this.#standing.set(lane, before === undefined ? '' : standingOf(before.text, before))
    }
    const standing = standingOf(text, fact)
    if (this.#standing.get(lane) === standing) return
    this.#standing.set(lane, standing)
    this.#entries.push({ at, lane, text, ...fact })
  }
}

function standingOf(text: string, fact: SimulationFact): string {
  return fact.kind === 'lane' ? `${fact.phase} ${text}` : ''
}
