import type { SlotRow } from '../contract/slot-row.ts'
import type { CancelTimer } from '../kernel/clock.ts'
import { type Hal0Error, toHal0Error } from '../kernel/errors.ts'
import { announce } from './announce.ts'
import { Claims } from './claims.ts'
import { closedError, wrongModeError } from './errors.ts'
import { refuseOverdue } from './expiry.ts'
import { FreeOnBegin } from './free-on-begin.ts'
import { LeashedClock } from './leashed-clock.ts'
import type { ArbiterMode } from './ports.ts'
import { QueueWatch } from './queue-watch.ts'
import { RequestBook } from './request-book.ts'
import { Restorer } from './restorer.ts'
import { chooseGroups, type Groups } from './rules/choose-groups.ts'
import { chooseMode, type ModeDecision } from './rules/choose-mode.ts'
import { FREE_RETRY_MS, MODE_TIMING, type ModeTiming, QUEUE_POLL_MS } from './rules/timing.ts'
import type { StartState } from './start-state.ts'
import type { StateKeeper } from './state-keeper.ts'
import type { ArbiterDeps, Stage, SwitchHost, SwitchOutcome } from './switch-host.ts'
import { switchToImages } from './switch-to-images.ts'
import { switchToLanguage } from './switch-to-language.ts'
import { Vigil } from './vigil.ts'
import { WishBook } from './wish-book.ts'

/**
 * The one that decides which group has the memory. Whatever happens only wakes it; then it looks at everything afresh, acts, and sets
 * one timer for the next moment at which the answer may be another. A switch runs beside it, one at a time, and waits in it.
 */
export class TurnLoop {
  readonly book = new RequestBook((group) => this.#left(group))
  readonly wishes = new WishBook()
  readonly state: StateKeeper
  readonly #deps: ArbiterDeps
  readonly #clock: LeashedClock
  readonly #timing: ModeTiming
  readonly #restorer: Restorer
  readonly #foreign: Claims
  readonly #host: SwitchHost
  #rows: readonly SlotRow[] = []
  #groups: Groups = chooseGroups([], 'off')
  /** Every slot that was looked at; undefined = it takes no turns. */
  readonly #groupOf = new Map<string, ArbiterMode | undefined>()
  #stage: Stage = 'rest'
  readonly #queue: QueueWatch
  #keptUntilMs: number
  #retryMs = 0
  #away: ReadonlySet<string> = new Set()
  readonly #vigil = new Vigil()
  readonly #freeOnBegin: FreeOnBegin
  #cancelTimer: CancelTimer = () => {}
  #isLooking = false
  #looksAgain = false
  #isClosed = false
  #reason = ''

  constructor(deps: ArbiterDeps, state: StateKeeper, start: StartState) {
    this.#clock = new LeashedClock(deps.clock)
    this.#deps = { ...deps, clock: this.#clock }
    this.#timing = deps.timing ?? MODE_TIMING
    this.state = state
    this.#keptUntilMs = this.nowMs + start.keepMs
    const lastImageMs = start.goesOn ? Number.NEGATIVE_INFINITY : this.nowMs
    this.#queue = new QueueWatch(this.#deps, lastImageMs, () => this.wake())
    this.#host = this.#makeHost()
    this.#foreign = new Claims(this.#host)
    this.#freeOnBegin = new FreeOnBegin(this.#deps)
    const wantedSlots = () =>
      new Set([...this.book.busySlots('llm'), ...this.book.waiters('llm').map((waiter) => waiter.slot)])
    this.#restorer = new Restorer({ ...this.#deps, state, wantedSlots })
  }

  /** Monotonic ms. */
  get nowMs(): number {
    return this.#clock.monotonicMs()
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  get stage(): Stage {
    return this.#stage
  }

  /** As they were last looked at. */
  get groups(): Groups {
    return this.#groups
  }

  /** The group a slot takes turns in; undefined = it takes none. */
  groupOf(slot: string): ArbiterMode | undefined {
    if (!this.#groupOf.has(slot)) this.readRows()
    return this.#groupOf.get(slot)
  }

  /** Has the group the memory, and is it its turn? */
  mayPass(group: ArbiterMode): boolean {
    if (this.#stage !== 'rest' || this.state.now.mode !== group) return false
    return group === 'llm' || !(this.book.countWaiting('llm') > 0 || this.wishes.has('llm'))
  }

  isSaved(slot: string): boolean {
    return this.state.now.saved_slots.includes(slot) && (this.#stage !== 'draining' || this.#away.has(slot))
  }

  /** The slots as they are now; groups follow. */
  readRows(): readonly SlotRow[] {
    this.#rows = this.#deps.slots.rows()
    this.#groups = chooseGroups(this.#rows, this.#deps.settings().arbiter)
    this.#groupOf.clear()
    for (const { name } of this.#rows) this.#groupOf.set(name, undefined)
    for (const name of this.#groups.llm) this.#groupOf.set(name, 'llm')
    for (const name of this.#groups.img) this.#groupOf.set(name, 'img')
    return this.#rows
  }

  /** Something may be otherwise now. Calls from inside a look coalesce. */
  wake(): void {
    this.#looksAgain = true
    if (this.#isLooking) return
    this.#isLooking = true
    while (this.#looksAgain && !this.#isClosed) {
      this.#looksAgain = false
      try {
        this.#look()
      } catch (cause) {
        this.#deps.log.error({ err: cause }, 'the GPU arbiter failed while it looked at the slots')
      }
    }
    this.#isLooking = false
  }

  close(): Promise<void> {
    this.#isClosed = true
    this.#clock.close()
    this.#vigil.giveUp()
    this.#restorer.end()
    this.#foreign.giveUp()
    for (const group of ['llm', 'img'] as const) {
      this.book.refuse(this.book.waiters(group), (waiter) => closedError(waiter.slot))
    }
    this.wishes.refuse(this.wishes.all, closedError(this.#groups.imageSlot ?? 'of images'))
    return this.state.keep({})
  }

  #look(): void {
    this.readRows()
    this.#freeOnBegin.look(this.#groups.offBecause !== undefined, this.state.now.mode, this.#host.rowsOf('img'))
    const nowMs = this.nowMs
    for (const group of ['llm', 'img'] as const) {
      for (const waiter of this.book.waiters(group)) {
        if (this.groupOf(waiter.slot) !== group) this.book.free(waiter)
      }
    }
    const pollMs = this.#vigil.ask(nowMs)
    const reviewAtMs = this.#stage === 'rest' ? this.#rest(nowMs) : undefined
    const { nextMs: expiryMs, refused } = refuseOverdue(this.book, this.wishes, this.#stage, nowMs)
    if (refused > 0) this.#looksAgain = true
    this.#cancelTimer()
    const nextMs = Math.min(...[reviewAtMs, expiryMs, pollMs].map((atMs) => atMs ?? Number.POSITIVE_INFINITY))
    if (nextMs < Number.POSITIVE_INFINITY) this.#cancelTimer = this.#clock.setTimer(nextMs - nowMs, () => this.wake())
  }

  /** No switch is under way. Answers when to look again. */
  #rest(nowMs: number): number | undefined {
    const { state, book } = this
    if (state.now.mode === 'img' && this.#groups.offBecause !== undefined) this.#endTurns()
    const { mode, pinned } = state.now
    this.wishes.fulfil(mode)
    if (this.mayPass(mode)) for (const waiter of book.waiters(mode)) book.grant(waiter, nowMs)
    if (mode === 'llm') this.#restorer.begin()
    // Images have the memory: a language slot that came up all the same, or takes turns only now, makes way.
    const isAlone = mode === 'llm' || this.#foreign.allGone()
    if (book.running('img') > 0) this.#queue.lastImageMs = nowMs
    const decision = chooseMode(
      {
        mode,
        keptUntilMs: this.#keptUntilMs,
        pinned,
        wish: this.wishes.first?.mode,
        waiting: { llm: book.countWaiting('llm'), img: book.countWaiting('img') },
        rendering: book.running('img'),
        queue: this.#queue.readingOf(this.#host.rowsOf('img')),
        lastImageMs: this.#queue.lastImageMs,
        retryMs: this.#retryMs,
      },
      nowMs,
      this.#timing.quietMs,
    )
    if (decision.reason !== this.#reason) this.#deps.log.debug({ mode, action: decision.action }, decision.reason)
    this.#reason = decision.reason
    this.#act(mode, decision)
    return isAlone
      ? decision.reviewAtMs
      : Math.min(decision.reviewAtMs ?? Number.POSITIVE_INFINITY, nowMs + QUEUE_POLL_MS)
  }

  #act(mode: ArbiterMode, { action, reason, refuse }: ModeDecision): void {
    if (refuse !== undefined) {
      const other = otherOf(mode)
      this.book.refuse(this.book.waiters(other), ({ slot }) => wrongModeError(other, slot, refuse))
      const wishes = this.wishes.all.filter((wish) => wish.mode === other)
      this.wishes.refuse(wishes, wrongModeError(other, undefined, refuse))
      // With them gone, those who waited behind them may pass.
      this.#looksAgain = true
    }
    if (action === 'read_queue') this.#queue.read(this.#host.rowsOf('img'))
    if (action === 'switch') this.#switch(otherOf(mode), reason)
  }

  #switch(to: ArbiterMode, reason: string): void {
    this.#restorer.end()
    this.#foreign.giveUp()
    const run = to === 'img' ? switchToImages(this.#host, reason) : switchToLanguage(this.#host, reason)
    void run.then(
      (outcome) => this.#ended(to, outcome),
      (cause: unknown) => {
        this.#deps.log.error({ to, err: cause }, 'a switch of the GPU arbiter failed unexpectedly')
        void this.state.keep({ switching_to: null })
        this.#ended(to, { kind: 'failed', error: toHal0Error(cause) })
      },
    )
  }

  #ended(to: ArbiterMode, outcome: SwitchOutcome): void {
    if (this.#isClosed) return
    const nowMs = this.nowMs
    this.#stage = 'rest'
    this.#queue.forget()
    if (outcome.kind !== 'cancelled') this.#keptUntilMs = nowMs + this.#timing.keepMs
    else if (to === 'llm') this.#retryMs = nowMs + FREE_RETRY_MS
    if (outcome.kind === 'failed') this.#fail(to, outcome.error)
    if (outcome.kind === 'done' && to === 'img') {
      this.#queue.lastImageMs = nowMs
      // The turn belongs to those who wait by now, whoever waits for the other mode; who comes later waits behind those.
      for (const waiter of this.book.waiters('img')) this.book.grant(waiter, nowMs)
    }
    this.wake()
  }

  #fail(to: ArbiterMode, error: Hal0Error): void {
    this.book.refuse(this.book.waiters(to), () => error)
    this.wishes.refuse(
      this.wishes.all.filter((wish) => wish.mode === to),
      error,
    )
  }

  /** No image slot shares memory any more, or a person turned the arbiter off. */
  #endTurns(): void {
    this.#foreign.giveUp()
    void this.state.keep({ mode: 'llm', switching_to: null, pinned: false, since_ms: this.#clock.nowMs() })
    const data = { from: 'img', to: 'llm', reason: this.#groups.offBecause, saved_slots: this.state.now.saved_slots }
    announce(this.#deps, 'info', 'arbiter.switched', 'image and language slots take no turns any more', data)
  }

  #left(group: ArbiterMode): void {
    if (group === 'img') {
      this.#queue.lastImageMs = this.nowMs
      this.#queue.forget()
    }
    if (group === 'img' || this.#stage !== 'rest' || this.book.countWaiting('img') > 0) this.wake()
  }

  #makeHost(): SwitchHost {
    return {
      ...this.#deps,
      state: this.state,
      isClosed: () => this.#isClosed,
      setStage: (stage) => {
        this.#stage = stage
      },
      rowsOf: (group) => {
        const rows = this.readRows()
        return rows.filter((row) => this.#groups[group].includes(row.name))
      },
      isWanted: (mode) => this.book.countWaiting(mode) > 0 || this.wishes.has(mode),
      isPinnedAgainst: (mode) => this.state.now.pinned && !this.wishes.has(mode),
      busySlots: (group) => this.book.busySlots(group),
      imageTarget: () => {
        const asked = this.book.waiters('img').find((waiter) => this.#groups.img.includes(waiter.slot))
        return asked?.slot ?? this.#groups.imageSlot
      },
      setAway: (slots) => {
        this.#away = new Set(slots)
      },
      until: async (test, limitMs) => {
        if (this.#isClosed) return false
        const outcome = this.#vigil.wait(test, this.nowMs + limitMs)
        this.wake()
        return outcome
      },
    }
  }
}

function otherOf(mode: ArbiterMode): ArbiterMode {
  return mode === 'llm' ? 'img' : 'llm'
}
