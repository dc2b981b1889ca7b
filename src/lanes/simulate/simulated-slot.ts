import type { SlotFailure } from '../../contract/slot-state.ts'
import type { CancelTimer, Clock } from '../../kernel/clock.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import type { LaneSlot, LaneSlotView } from '../lane-slot.ts'
import { type LaneTarget, sameTarget } from '../rules/lane-target.ts'

type ModelTarget = LaneTarget & { readonly kind: 'model' }

/** How a simulated engine fails. */
export interface SimulatedFailure {
  readonly message: string
  readonly cause: SlotFailure['cause']
}

export interface SimulatedEngine {
  /** From the start of the process to ready, ms; asked at each load. */
  readonly loadMs: (target: ModelTarget) => number
  /** Why this load fails at its end; undefined = it succeeds. Asked at each load. */
  readonly failureOf: (target: ModelTarget) => SimulatedFailure | undefined
  readonly stopMs: number
  /** Told of each load that came to its end, before anybody else sees it. */
  readonly onLoad?: (load: SimulatedLoad) => void
}

/** A load that was not overtaken. */
export interface SimulatedLoad {
  readonly target: ModelTarget
  /** Epoch ms. */
  readonly begunMs: number
  readonly isReady: boolean
}

/**
 * A lane's slot without an engine: it takes its time on whatever clock it is given, and fails as it is told. For plans that people try out, and for
 * tests of the loop. Requests are leases that end when `release` is called, or are cut at the end of a drain.
 */
export class SimulatedSlot implements LaneSlot {
  readonly #clock: Clock
  readonly #engine: SimulatedEngine
  readonly #listeners = new Set<() => void>()
  readonly #leases = new Set<() => void>()
  #state: LaneSlotView['state'] = 'down'
  #running: ModelTarget | undefined
  #failure: LaneSlotView['failure']
  #cancel: CancelTimer | undefined
  #overtake: (() => void) | undefined
  #onQuiet: (() => void) | undefined
  /** Every load that was begun, in order. */
  readonly loads: { readonly target: ModelTarget; readonly atMs: number }[] = []

  constructor(clock: Clock, engine: SimulatedEngine) {
    this.#clock = clock
    this.#engine = engine
  }

  view(): LaneSlotView {
    return { state: this.#state, running: this.#running, inFlight: this.#leases.size, failure: this.#failure }
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** A request that holds a lease until it is released; `onCut`: the drain was over before that. */
  lease(onCut: () => void = () => {}): () => void {
    this.#leases.add(onCut)
    return () => {
      if (this.#leases.delete(onCut) && this.#leases.size === 0) this.#onQuiet?.()
    }
  }

  /** The engine dies by itself. */
  die(message: string): void {
    this.#cut()
    this.#failure = { code: 'slot.spawn_failed', message, cause: null, atMs: this.#clock.nowMs() }
    this.#running = undefined
    this.#to('failed')
  }

  run(
    target: ModelTarget,
    { drainMs, restart }: { readonly drainMs: number; readonly restart: boolean },
  ): Promise<void> {
    const isUp = this.#state === 'up' || this.#state === 'draining'
    const isThere = isUp && this.#running !== undefined && sameTarget(this.#running, target)
    return this.#change(async (step) => {
      // A drain that is not wanted any more is taken back.
      if (isThere && !restart) return this.#state === 'up' ? undefined : this.#to('up')
      await this.#empty(drainMs, step)
      this.#running = target
      this.#failure = undefined
      const begunMs = this.#clock.nowMs()
      this.loads.push({ target, atMs: begunMs })
      this.#to('loading')
      await step(this.#engine.loadMs(target))
      const failure = this.#engine.failureOf(target)
      this.#engine.onLoad?.({ target, begunMs, isReady: failure === undefined })
      if (failure === undefined) return this.#to('up')
      this.#failure = { code: 'slot.spawn_failed', ...failure, atMs: this.#clock.nowMs() }
      this.#running = undefined
      this.#to('failed')
      throw Hal0Error.of('slot.spawn_failed', failure.message)
    })
  }

  stop({ drainMs }: { readonly drainMs: number }): Promise<void> {
    return this.#change(async (step) => {
      await this.#empty(drainMs, step)
      this.#failure = undefined
      this.#to('down')
    })
  }

  /** Runs one change; a later one overtakes it at its next step. */
  async #change(work: (step: (ms: number) => Promise<void>) => Promise<void>): Promise<void> {
    this.#overtake?.()
    let isOvertaken = false
    let fail: () => void = () => {}
    this.#overtake = () => {
      isOvertaken = true
      this.#cancel?.()
      fail()
    }
    const overtaken = () =>
      Hal0Error.of('slot.unloading', 'another change of the lane came after this one', { retryAfterS: 1 })
    const step = (ms: number) =>
      new Promise<void>((resolve, reject) => {
        if (isOvertaken) return reject(overtaken())
        fail = () => reject(overtaken())
        this.#cancel = this.#clock.setTimer(ms, resolve)
        this.#onQuiet = this.#state === 'draining' ? resolve : undefined
      })
    await work(step)
  }

  async #empty(drainMs: number, step: (ms: number) => Promise<void>): Promise<void> {
    if (this.#running === undefined) return
    if (this.#leases.size > 0 && drainMs > 0) {
      this.#to('draining')
      await step(drainMs)
    }
    this.#cut()
    this.#to('stopping')
    await step(this.#engine.stopMs)
    this.#running = undefined
  }

  #cut(): void {
    const cut = [...this.#leases]
    this.#leases.clear()
    for (const onCut of cut) onCut()
  }

  #to(state: LaneSlotView['state']): void {
    this.#state = state
    for (const listener of this.#listeners) listener()
  }
}
