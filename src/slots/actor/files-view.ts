import type { SlotRow } from '../../contract/slot-row.ts'
import type { Hal0Error } from '../../kernel/errors.ts'
import type { ThinkingChoice } from '../../launch/rules/launch-request.ts'
import { bindingOf, type Override, type SlotBinding } from '../launch/read-binding.ts'
import type { EngineLife } from '../life/engine-life.ts'
import type { ActorDeps } from '../life/life-ports.ts'
import { selectChangedKeys } from '../rules/changed-keys.ts'
import type { WishOf } from './actor-messages.ts'
import type { Deferred } from './deferred.ts'
import type { StateBoard } from './state-board.ts'

/** What the view knows of its slot. */
export interface FilesPort {
  life(): Pick<EngineLife, 'engine' | 'phase'>
  post(message: WishOf<'examined'>): void
}

/**
 * What a slot's files say, beside what runs: the keys that apply at once, and those that wait for a restart. Belongs to the slot's actor;
 * looking happens outside of it, one look at a time. Source: SPEC 2 "An edit never stops a process", 9 "Drift".
 */
export class FilesView {
  #thinking: ThinkingChoice | undefined
  #restartNeeded: readonly string[] = []
  #drift: readonly string[] = []
  #problem: Hal0Error | undefined
  #isLooking = false
  #waiting: Deferred<SlotRow>[] = []
  #lookAgain = false
  #bound: SlotBinding | undefined
  /** The model that a swap or a request put in the place of the file's; until the slot is unloaded. Set by the actor. */
  override: Override | undefined
  readonly #name: string
  readonly #board: StateBoard
  readonly #deps: ActorDeps
  readonly #port: FilesPort

  constructor(
    slot: { readonly name: string; readonly bound: SlotBinding | undefined; readonly board: StateBoard },
    deps: ActorDeps,
    port: FilesPort,
  ) {
    this.#name = slot.name
    this.#bound = slot.bound
    this.#board = slot.board
    this.#deps = deps
    this.#port = port
  }

  /** What is bound, as last read: at start, at each load and each time the files change; undefined = it cannot be read. */
  get bound(): SlotBinding | undefined {
    return this.#bound
  }

  /** What a restart runs: the file's model, where it names one. */
  get overrideOfRestart(): Override | undefined {
    return this.#bound?.config.model.default === '' ? this.override : undefined
  }

  get thinking(): ThinkingChoice | undefined {
    return this.#thinking
  }

  get restartNeeded(): readonly string[] {
    return this.#restartNeeded
  }

  get drift(): readonly string[] {
    return this.#drift
  }

  /** Why a start now would fail, as far as the files say. */
  get problem(): Hal0Error | undefined {
    return this.#problem
  }

  /** A start has read the slot's own file. */
  configured(bound: SlotBinding): void {
    this.#bound = bound
    this.#board.refresh({ model_id: bound.modelId || null })
  }

  /** A start has read the files: what it launches is what they say. */
  planned(thinking: ThinkingChoice): void {
    this.#thinking = thinking
    this.#restartNeeded = []
    this.#drift = []
    this.#problem = undefined
  }

  /** An engine that runs already was found with this binding. */
  adopted(bound: SlotBinding, thinking: ThinkingChoice): void {
    // Its own file cannot be read now: what it said then keeps the slot listed.
    this.#bound ??= bound
    if (bound.modelId !== bound.config.model.default) this.override = { modelId: bound.modelId }
    this.#thinking = thinking
  }

  /** Nothing runs that could differ from the files, and the row names what is bound. */
  down(): void {
    this.#restartNeeded = []
    this.#drift = []
    this.#showBound()
  }

  /** The file's own model counts again. */
  dropOverride(): void {
    this.override = undefined
    if (this.#bound === undefined) return
    const own = bindingOf(this.#bound.config)
    const { profile, profileRunner } = this.#bound
    this.#bound = own.profile === profile ? { ...own, profileRunner } : own
  }

  /** Reads the files; the finding comes back as a message. What is asked for meanwhile is answered by the next look, which reads later. */
  look(answer?: Deferred<SlotRow>): void {
    if (answer !== undefined) this.#waiting.push(answer)
    this.#lookAgain = true
    if (this.#isLooking) return
    this.#isLooking = true
    this.#lookAgain = false
    const answers = this.#waiting
    this.#waiting = []
    const running = this.#port.life().engine
    const { override } = this
    void this.#deps.effects.examine(this.#name, override, running).then((found) => {
      this.#port.post({ type: 'examined', found, attemptId: running?.attemptId, override, answers })
    })
  }

  /**
   * What a look has found; what it says of an engine that is gone meanwhile does not count. False = it was read for another model than the
   * one that is to run by now: nothing of it counts, and a later look answers those who wait.
   */
  take({ found, attemptId, override, answers }: WishOf<'examined'>): boolean {
    this.#isLooking = false
    if (override?.modelId !== this.override?.modelId) {
      this.#waiting.unshift(...answers)
      this.look()
      return false
    }
    if (this.#lookAgain) this.look()
    const before = this.#bound?.config
    const running = this.#port.life().engine
    if (found.bound !== undefined) this.#bound = found.bound
    // Of a slot that runs, the row names the model that runs.
    if (this.#port.life().phase.kind === 'down') this.#showBound()
    const isMended = this.#problem !== undefined && found.problem === undefined
    this.#tellProblem(found.problem)
    if (found.problem !== undefined) {
      // Compared with a launch that there is not: nothing can be said.
      this.#restartNeeded = []
      this.#drift = []
      return true
    }
    this.#thinking = found.thinking
    const isOfThisEngine = running !== undefined && running.attemptId === attemptId
    const restartNeeded = isOfThisEngine ? found.restartNeeded : []
    this.#drift = isOfThisEngine ? found.drift : []
    this.#tellChange(restartNeeded, selectChangedKeys(before, found.bound?.config), isMended)
    this.#restartNeeded = restartNeeded
    return true
  }

  /** Nobody wants to know any more what the files say; returns who still waits for a look. */
  giveUp(): readonly Deferred<SlotRow>[] {
    this.#isLooking = false
    this.#lookAgain = false
    return this.#waiting.splice(0)
  }

  #showBound(): void {
    const modelId = this.#bound?.modelId || null
    if (this.#bound !== undefined && modelId !== this.#board.record.model_id) this.#board.refresh({ model_id: modelId })
  }

  #tellProblem(problem: Hal0Error | undefined): void {
    const isNews = problem !== undefined && problem.message !== this.#problem?.message
    this.#problem = problem
    if (!isNews) return
    this.#deps.log.warn({ slot: this.#name, code: problem.code }, problem.message)
    this.#deps.bus.publish({
      type: 'slot.config_unusable',
      severity: 'error',
      source: `slot:${this.#name}`,
      message: `a start of slot ${this.#name} would fail: ${problem.message}`,
      data: { slot: this.#name, code: problem.code },
    })
  }

  #tellChange(restartNeeded: readonly string[], changed: readonly string[], isMended: boolean): void {
    const isNews = restartNeeded.join() !== this.#restartNeeded.join()
    if (changed.length === 0 && !isNews && !isMended) return
    const needs =
      restartNeeded.length === 0 ? 'nothing waits for a restart' : `${restartNeeded.join(', ')} wait for a restart`
    const what =
      changed.length > 0
        ? `${changed.join(', ')} changed`
        : isMended
          ? 'its files are right again'
          : 'what it is made of changed'
    const message = `slot ${this.#name}: ${what}; ${this.#port.life().engine !== undefined ? needs : 'counts from the next start'}`
    this.#deps.log.info({ slot: this.#name, changed, restartNeeded }, message)
    this.#deps.bus.publish({
      type: 'slot.config_changed',
      severity: 'info',
      source: `slot:${this.#name}`,
      message,
      data: { slot: this.#name, changed, restart_needed: restartNeeded },
    })
  }
}
