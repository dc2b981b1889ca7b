import type { BreakerEntry, SlotFailure, SlotState, SlotStateRecord } from '../../contract/slot-state.ts'
import type { Publisher } from '../../events/bus.ts'
import type { CancelTimer, Clock } from '../../kernel/clock.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { isoTime } from '../../kernel/units.ts'
import { nextState, type SlotEvent } from '../rules/slot-events.ts'
import { FLIP_INTERVAL_MS } from '../settings.ts'
import type { RecordWriter } from '../state-record.ts'

/** Facts that change together with the state, or alone. `extra` is replaced as a whole. */
export type RecordPatch = Partial<Pick<SlotStateRecord, 'message' | 'model_id' | 'port' | 'extra'>>

/**
 * The state of one slot: applies the rules, persists the record, tells the bus. Only the slot's actor holds it.
 * serving ↔ ready follows every request; one that still holds after FLIP_INTERVAL_MS reaches disk and bus then, never on a
 * request's own turn; the record of a flip is made when somebody reads it.
 */
export class StateBoard {
  /** Without the flips since `#flippedAtMs`. */
  #record: SlotStateRecord
  #state: SlotState
  /** Wall clock, of the last flip that the record does not know of; undefined = it knows all. */
  #flippedAtMs: number | undefined
  #announced: SlotState
  #cancelTimer: CancelTimer | undefined
  #isClosed = false
  /** Outlives every change of `extra`. */
  #breakers: readonly BreakerEntry[]
  readonly #deps: { readonly clock: Clock; readonly bus: Publisher; readonly writer: RecordWriter }

  constructor(
    initial: SlotStateRecord,
    deps: { readonly clock: Clock; readonly bus: Publisher; readonly writer: RecordWriter },
  ) {
    this.#record = initial
    this.#state = initial.state
    this.#announced = initial.state
    this.#breakers = initial.extra.breakers ?? []
    this.#deps = deps
  }

  get record(): SlotStateRecord {
    if (this.#flippedAtMs !== undefined) this.#update({}, false, this.#flippedAtMs)
    return this.#record
  }

  get state(): SlotState {
    return this.#state
  }

  /** As in the record, which is not made for it. */
  get modelId(): string | null {
    return this.#record.model_id
  }

  /** Why it is idle; null in any other state. */
  get idleReason(): NonNullable<SlotStateRecord['extra']['idle_reason']> | null {
    return this.#state === 'idle' ? (this.#record.extra.idle_reason ?? 'quiet') : null
  }

  /** Moves the state. Errors: `slot.illegal_transition`; nothing has changed then. */
  apply(event: SlotEvent, patch?: RecordPatch): void {
    const from = this.state
    const transition = nextState(from, event)
    if (transition.kind === 'illegal') {
      throw Hal0Error.of('slot.illegal_transition', `slot ${this.#record.name}: ${event} while ${from}`, {
        details: { slot: this.#record.name, state: from, event },
      })
    }
    const isFlip = event === 'first_lease_taken' || event === 'last_lease_ended'
    if (isFlip && patch === undefined) return this.#flip(transition.to)
    // A flip that was held back happened before this: without it the steps that are told would not be legal ones.
    if (this.#announced !== from) this.#announce()
    this.#state = transition.to
    this.#update(patch ?? {}, transition.forced)
    this.#announce()
  }

  #flip(to: SlotState): void {
    this.#state = to
    this.#flippedAtMs = this.#deps.clock.nowMs()
    if (this.#cancelTimer !== undefined || this.#isClosed) return
    // A request that is shorter costs no event and no write; one timer serves all that come and go meanwhile.
    this.#cancelTimer = this.#deps.clock.setTimer(FLIP_INTERVAL_MS, () => {
      this.#cancelTimer = undefined
      if (this.state !== this.#announced) this.#announce()
    })
  }

  /** Same state, other facts: persisted, no event. Source: SPEC 4 "A same-state update". */
  refresh(patch: RecordPatch): void {
    this.#update(patch)
    if (!this.#isClosed) this.#deps.writer.write(this.record)
  }

  /** What counts against its launches, to be known by the next daemon too. */
  keepBreakers(entries: readonly BreakerEntry[]): void {
    this.#breakers = entries
    this.refresh({})
  }

  /** A slot that had failed is offline now; `isMeant`: only after such a failure. */
  forgetFailure(isMeant: (failure: SlotFailure | undefined) => boolean = () => true): void {
    if (this.state === 'error' && isMeant(this.#record.extra.failure)) this.apply('stopped', { message: '', extra: {} })
  }

  /** The last word: what was held back is told now, and nothing later. Its file belongs to whoever comes after. */
  close(): void {
    if (this.#announced !== this.state) this.#announce()
    this.#cancelFlip()
    this.#isClosed = true
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  #update(patch: RecordPatch, forced = false, atMs = this.#deps.clock.nowMs()): void {
    const { forced: _before, breakers: _kept, ...extra } = patch.extra ?? this.#record.extra
    const breakers = this.#breakers.length === 0 ? {} : { breakers: [...this.#breakers] }
    this.#flippedAtMs = undefined
    this.#record = {
      ...this.#record,
      ...patch,
      state: this.#state,
      extra: { ...extra, ...breakers, ...(forced ? { forced } : {}) },
      updated_at: isoTime(atMs),
    }
  }

  #cancelFlip(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  #announce(): void {
    this.#cancelFlip()
    if (this.#isClosed) return
    const { name, state, message, model_id: modelId, extra } = this.record
    const from = this.#announced
    this.#announced = state
    this.#deps.writer.write(this.record)
    this.#deps.bus.publish({
      type: 'slot.state',
      severity: state === 'error' ? 'error' : 'info',
      source: `slot:${name}`,
      message: message === '' ? `${from} → ${state}` : `${from} → ${state}: ${message}`,
      data: { slot: name, from, to: state, model_id: modelId, forced: extra.forced === true },
    })
  }
}
