import { DEFAULT_DRAIN_S } from '../../contract/limits.ts'
import type { SlotRow } from '../../contract/slot-row.ts'
import { SECOND_MS } from '../../kernel/units.ts'
import type { Override } from '../launch/read-binding.ts'
import type { PhaseOf } from '../life/phase.ts'
import { closingError, noModelServedError, noSuchTransitionError, pinnedError } from '../slot-failures.ts'
import type { ComparingWish, WishOf } from './actor-messages.ts'
import type { Deferred } from './deferred.ts'
import type { SlotParts } from './slot-parts.ts'

/** What people (and the daemon) want of a slot as a whole: load, unload, restart, swap, close. Belongs to the slot's actor. Source: SPEC 4 "Operations". */
export class WishHandler {
  readonly #parts: SlotParts
  /** A wish whose files were read meanwhile is looked at again from the start. */
  readonly #handleAgain: (wish: ComparingWish) => void

  constructor(parts: SlotParts, handleAgain: (wish: ComparingWish) => void) {
    this.#parts = parts
    this.#handleAgain = handleAgain
  }

  load(wish: WishOf<'load'>): void {
    if (this.#parts.wishes.refusal !== undefined) return wish.answer.reject(this.#parts.wishes.refusal)
    const { phase } = this.#parts.life
    // Only a person replaces what runs. Source: SPEC 2 "An explicit load", 4 "only a person's load restarts it".
    if (wish.by === 'daemon' && phase.kind === 'up' && !this.#parts.drain.isOn) {
      if (phase.hasModel) return wish.answer.resolve(this.#parts.row())
      return wish.answer.reject(noModelServedError(this.#parts.name, this.#parts.board.record.model_id))
    }
    if (phase.kind === 'up' && phase.hasModel && !this.#parts.drain.isOn)
      return this.#compare(phase, wish, this.#parts.files.override)
    this.#parts.wishes.load.join(wish.answer)
    if (phase.kind === 'down') return this.#parts.gate.wished(wish.by)
    if (wish.by === 'person') this.#parts.gate.forgive()
    if (phase.kind === 'loading') return
    this.#parts.wishes.loadNext(1, wish.by)
    // Up without a model: only a fresh start can change that.
    if (phase.kind === 'up' && !this.#parts.drain.isOn) this.#parts.stops.end(0)
    this.#parts.stops.boundWaits()
  }

  restart(wish: WishOf<'restart'>): void {
    const { phase } = this.#parts.life
    if (this.#parts.wishes.closing !== undefined) return this.load({ type: 'load', by: 'person', answer: wish.answer })
    const override = this.#parts.files.overrideOfRestart
    if (phase.kind === 'up' && !this.#parts.drain.isOn) return this.#compare(phase, wish, override)
    this.#parts.files.override = override
    if (phase.kind === 'down') return this.load({ type: 'load', by: 'person', answer: wish.answer })
    this.#reload(wish.answer, wish.drainMs)
  }

  swap(wish: WishOf<'swap'>): void {
    const { phase } = this.#parts.life
    if (this.#parts.wishes.closing !== undefined) return this.load({ type: 'load', by: 'person', answer: wish.answer })
    // A lane that is to run again what it was about to leave need not leave it.
    const mayStay = !this.#parts.drain.isOn || (this.#parts.isLanes() && phase.kind === 'up' && phase.hasModel)
    if (phase.kind === 'up' && mayStay) return this.#compare(phase, wish, wish.override)
    this.#swapNow(wish)
  }

  #swapNow(wish: WishOf<'swap'>): void {
    const { phase } = this.#parts.life
    this.#parts.files.override = wish.override
    // A load that runs is of another model; what follows it is this one.
    if (phase.kind === 'down') this.load({ type: 'load', by: 'person', answer: wish.answer })
    else this.#reload(wish.answer, wish.drainMs)
  }

  /** Reads the files before what runs is touched: a mistake in them costs no working engine. */
  #compare(phase: PhaseOf<'up'>, wish: ComparingWish, override: Override | undefined): void {
    const unloads = this.#parts.wishes.unloads
    const attemptId = phase.attempt.id
    void this.#parts.deps.effects.examine(this.#parts.name, override, phase.engine).then((found) => {
      this.#parts.post({ type: 'launch_compared', attemptId, wish, found, unloads })
    })
  }

  launchCompared({ attemptId, wish, found, unloads }: WishOf<'launch_compared'>): void {
    const { phase } = this.#parts.life
    const { drain, wishes } = this.#parts
    if (unloads !== wishes.unloads) return wish.answer.reject(wishes.overtaken)
    const isThere = phase.kind === 'up' && phase.attempt.id === attemptId && wishes.closing === undefined
    if (isThere && drain.isOn && wish.type === 'swap' && this.#parts.isLanes()) {
      const stays = found.problem === undefined && found.restartNeeded.length === 0
      return stays ? this.#stay(wish) : this.#swapNow(wish)
    }
    if (!isThere || drain.isOn) return this.#handleAgain(wish)
    const isStopping = wish.type === 'restart' || found.restartNeeded.length > 0
    // Nothing that works is stopped for what could not start.
    const refusal = found.problem ?? (isStopping ? this.#parts.deps.startRefusal(this.#parts.name) : undefined)
    if (refusal !== undefined) return wish.answer.reject(refusal)
    if (wish.type === 'swap') this.#parts.files.override = wish.override
    if (wish.type === 'restart') {
      this.#parts.files.override = this.#parts.files.overrideOfRestart
      return this.#reload(wish.answer, wish.drainMs)
    }
    if (found.restartNeeded.length === 0) return wish.answer.resolve(this.#parts.row())
    this.#reload(wish.answer, wish.type === 'swap' ? wish.drainMs : DEFAULT_DRAIN_S * SECOND_MS)
  }

  /** What runs was to end, and is what is wanted: those who waited for its end, or for what was to follow, are overtaken. */
  #stay({ answer, override }: WishOf<'swap'>): void {
    const { files, stops, wishes } = this.#parts
    files.override = override
    wishes.dropNext()
    wishes.stop.reject(wishes.overtaken)
    wishes.load.reject(wishes.overtaken)
    stops.recall()
    answer.resolve(this.#parts.row())
  }

  /** Ends what there is, then loads. */
  #reload(answer: Deferred<SlotRow>, drainMs: number): void {
    this.#parts.gate.forgive()
    this.#parts.life.overtake()
    this.#parts.wishes.load.join(answer)
    this.#parts.wishes.loadNext(1, 'person')
    this.#parts.stops.end(drainMs)
    this.#parts.stops.boundWaits()
  }

  unload({ drainMs, force = false, answer }: WishOf<'unload'>): void {
    const { phase } = this.#parts.life
    if (!force && phase.kind !== 'down' && this.#parts.evictions.isPinned) {
      return answer.reject(pinnedError(this.#parts.name))
    }
    // The last wish counts: a load that runs or was to follow is not wanted any more, also not by those who wait for it.
    this.#parts.wishes.unloads++
    this.#parts.wishes.dropNext()
    this.#parts.life.overtake()
    this.#parts.files.dropOverride()
    if (phase.kind === 'down') {
      this.#parts.files.down()
      this.#parts.board.forgetFailure()
      return answer.resolve(this.#parts.row())
    }
    this.#parts.wishes.stop.join(answer)
    if (this.#parts.wishes.closing !== undefined)
      this.#parts.wishes.closing = { ...this.#parts.wishes.closing, keepEngine: false }
    const reason = this.#parts.wishes.overtaken
    this.#parts.wishes.load.reject(reason)
    if (phase.kind === 'loading') this.#parts.book.rejectAll(reason)
    this.#parts.stops.end(drainMs)
    this.#parts.stops.boundWaits()
  }

  close({ why, drainMs, keepEngine, answer }: WishOf<'close'>): void {
    // Somebody who asked for the engine's end gets it.
    const isEnding =
      this.#parts.wishes.stop.size > 0 ||
      this.#parts.wishes.next !== undefined ||
      this.#parts.wishes.closing?.keepEngine === false
    this.#parts.wishes.closing = { why: this.#parts.wishes.closing?.why ?? why, keepEngine: keepEngine && !isEnding }
    this.#parts.wishes.dropNext()
    this.#parts.wishes.close.join(answer)
    this.#parts.life.overtake()
    const reason = closingError(this.#parts.name, this.#parts.wishes.closing.why)
    this.#parts.book.rejectAll(reason)
    this.#parts.wishes.load.reject(reason)
    if (this.#parts.life.phase.kind === 'down') return this.#parts.closed()
    this.#parts.stops.end(drainMs)
  }

  closeIfDown({ why, answer }: WishOf<'close_if_down'>): void {
    if (this.#parts.wishes.refusal !== undefined) return answer.reject(this.#parts.wishes.refusal)
    const isDown = this.#parts.life.phase.kind === 'down' && this.#parts.book.queued === 0
    if (!isDown) return answer.reject(noSuchTransitionError(this.#parts.name, why, this.#parts.board.state))
    this.close({ type: 'close', why, drainMs: 0, keepEngine: false, answer })
  }
}
