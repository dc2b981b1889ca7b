import type { ThinkingChoice } from '../../launch/rules/launch-request.ts'
import type { PhaseOf } from '../life/phase.ts'
import { endpointOf, type StartedEngine } from '../life/started-engine.ts'
import type { Grantor } from './lease.ts'

/** In whose name a slot's leases are given: the same object until another engine is up, or what is put into its requests changes. */
export class Grantors {
  readonly #slot: string
  #engine: StartedEngine | undefined
  #thinking: ThinkingChoice | undefined
  #grantor: Grantor | undefined

  constructor(slot: string) {
    this.#slot = slot
  }

  of({ attempt, engine }: PhaseOf<'up'>, thinking: ThinkingChoice | undefined): Grantor {
    if (this.#grantor !== undefined && this.#engine === engine && this.#thinking === thinking) return this.#grantor
    this.#engine = engine
    this.#thinking = thinking
    this.#grantor = { slot: this.#slot, attemptId: attempt.id, endpoint: endpointOf(engine, thinking) }
    return this.#grantor
  }
}
