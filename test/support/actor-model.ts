import assert from 'node:assert/strict'
import type { NewEvent } from '../../src/contract/events.ts'
import type { LaunchPlan } from '../../src/contract/launch-plan.ts'
import type { SlotState } from '../../src/contract/slot-state.ts'
import { Hal0Error } from '../../src/kernel/errors.ts'
import type { EvictionOutcome } from '../../src/slots/admission/residents.ts'
import type { SanityVerdict } from '../../src/slots/life/sanity.ts'
import { isLegalTransition } from '../../src/slots/rules/transitions.ts'
import type { Lease } from '../../src/slots/slots.ts'
import { type ActorHarness, openActor } from './actor-harness.ts'
import type { Step } from './actor-steps.ts'
import { HeldDesk, HeldPulls } from './actor-world.ts'
import { BreakerOracle } from './breaker-oracle.ts'

const PARALLEL = 2

export interface RunKnobs {
  readonly termDelayMs: number
  readonly ignoresTerm: boolean
  readonly leavesGrandchild: boolean
  /** What the engine answers is looked at before anybody may use it. */
  readonly isGated: boolean
  /** The slot begins with an engine that an earlier daemon left. */
  readonly adopts: 'nothing' | 'unknown' | 'passed'
  /** It has come up before anything else happens. */
  readonly isUp: boolean
  /** Set by the user: a port that is taken is no reason to try another one. */
  readonly hasPort: boolean
}

interface Wait {
  readonly modelId: string | undefined
  readonly nth: number
  readonly leave: AbortController
  isOver: boolean
}

interface ClaimMade {
  readonly giveUp: () => void
  /** Who came as this one or later is not served. */
  servesBefore: number
  isOver: boolean
}

/**
 * One random life of a slot, and what always holds in it: one process at a time, and none is stopped or begun under a lease that was not revoked;
 * a lease is on a live engine with the model that was asked for, whose answers were found right; who can be served is served, who came after
 * a claim is not; pinned slots are not evicted; nothing is spawned without leave of the desk and of the breaker; every wish is answered;
 * every step of the state is a legal one; nothing stays behind.
 */
export class ActorRun {
  readonly slot: ActorHarness
  readonly #knobs: RunKnobs
  readonly #desk = new HeldDesk()
  readonly #pulls = new HeldPulls()
  readonly #oracle: BreakerOracle
  readonly #leases: { readonly lease: Lease; isReleased: boolean }[] = []
  readonly #waits: Wait[] = []
  readonly #claims: ClaimMade[] = []
  readonly #open = new Map<number, string>()
  readonly #sane = new Set<string>()
  /** Attempts whose engine was dead when everything had settled. */
  readonly #dead = new Set<string>()
  readonly #breaches: string[] = []
  #loadedModelId: string | undefined
  #arrived = 0
  #nextWish = 0
  #mayStay = false
  #areFilesHeld = false
  #isRefusing = false
  #isLanes = false

  constructor(knobs: RunKnobs) {
    this.#knobs = knobs
    this.slot = openActor({
      knobs,
      stopGraceMs: 40_000,
      queueLimit: 6,
      gated: knobs.isGated,
      desk: this.#desk,
      pull: this.#pulls.fetch,
      isMissing: (modelId) => this.#pulls.missing.has(modelId),
      onEvent: (event) => this.#hear(event),
      onLoadEnded: (record) => this.#oracle.ended(record),
      ...(knobs.hasPort ? { port: 8_081 } : {}),
    })
    this.#oracle = new BreakerOracle(this.slot.clock)
  }

  async begin(): Promise<void> {
    const { adopts } = this.#knobs
    if (adopts !== 'nothing') await this.slot.adopt(adopts === 'passed' ? 'passed' : undefined)
    if (adopts === 'passed') this.#sane.add('adopted')
    if (adopts !== 'nothing') this.#loadedModelId = 'm'
    this.slot.runtime.beforeStart = (plan) => this.#onStart(plan)
    if (!this.#knobs.isUp) return
    this.#acquire(undefined, 60_000)
    await this.slot.settle()
    this.#say('ready')
    await this.slot.settle()
    this.#judge('passed')
    await this.slot.settle()
  }

  async take(step: Step): Promise<void> {
    const { slot } = this
    switch (step.do) {
      case 'acquire':
        return step.isQuick === true ? this.#leaseNow(step) : this.#acquire(step.modelId, step.waitMs, step.key)
      case 'release': {
        const one = pickOf(this.#held(), step.pick)
        if (one === undefined) return
        one.isReleased = true
        if (step.isAnswered) this.#oracle.answered()
        return one.lease.release(step.isAnswered ? 'answered' : undefined)
      }
      case 'withdraw':
        return pickOf(this.#waiting(), step.pick)?.leave.abort(new Error('left'))
      case 'unload':
        return this.#track('unload', slot.unload(step.drainMs))
      case 'restart':
        return this.#track('restart', slot.restart(step.drainMs), true)
      case 'swap':
        return this.#track('swap', slot.swap(step.modelId, step.drainMs), true)
      case 'load':
        return this.#track(`load by ${step.by}`, slot.load(step.by), step.by === 'person')
      case 'look':
        return this.#track('look', slot.look())
      case 'close_if_down':
        return this.#track('close_if_down', slot.closeIfDown())
      case 'close':
        this.#mayStay ||= step.keepEngine
        return this.#track('close', slot.close(step))
      case 'evict':
        return this.#evict()
      case 'claim':
        return this.#claim(step)
      case 'give_up':
        return pickOf(
          this.#claims.filter(({ isOver }) => !isOver),
          step.pick,
        )?.giveUp()
      case 'exit':
        return slot.runtime.running[0]?.exit({ code: step.code })
      case 'say':
        return this.#say(step.kind)
      case 'judge':
        return this.#judge(step.kind)
      case 'settle':
        return await slot.settle()
      case 'advance':
        return await slot.clock.advance(step.ms)
      default:
        return this.#turnWorld(step)
    }
  }

  /** What is not the slot's: files, memory, time, other rooms. */
  #turnWorld(step: Exclude<Step, { do: 'acquire' | 'release' | 'withdraw' | 'swap' | 'load' | 'close' }>): void {
    const { slot } = this
    switch (step.do) {
      case 'jump_wall':
        slot.clock.jumpWallClock(step.ms)
        return this.#oracle.jumped()
      case 'toggle_broken':
        return toggle(slot.broken, step.modelId)
      case 'toggle_unregistered':
        return toggle(slot.unregistered, step.modelId)
      case 'toggle_missing':
        return toggle(this.#pulls.missing, step.modelId)
      case 'live':
        return slot.lookLive(step.look)
      case 'pull':
        return this.#pulls.answer(step.how)
      case 'desk':
        return this.#desk.answer(step.how)
      case 'toggle_desk':
        this.#desk.isHolding = !this.#desk.isHolding
        return
      case 'configure':
        slot.configure(step.keys)
        return this.#track('look', slot.look())
      case 'toggle_refusal':
        this.#isRefusing = !this.#isRefusing
        return slot.refuseStarts(this.#isRefusing ? imageModeError() : undefined)
      case 'toggle_lane':
        this.#isLanes = !this.#isLanes
        this.#oracle.laneIs(this.#isLanes)
        return slot.setManagedBy(this.#isLanes ? 'lane' : null)
      case 'new_build':
        this.#oracle.newBuild()
        return slot.newBuild()
      case 'files_wrong':
      case 'files_changed':
      case 'files_same':
        this.#areFilesHeld = false
        return slot.setFiles(
          step.do === 'files_wrong' ? new Error('wrong') : step.do === 'files_same' ? 'same' : 'changed',
        )
      case 'hold_files':
        this.#areFilesHeld = true
        return slot.holdFiles()
      case 'fail_start':
        return slot.failNextStart('no such program')
      default:
        throw new Error(`no such step: ${step.do}`)
    }
  }

  /** After each step; `isSettled`: nothing is about to happen by itself. */
  check(isSettled: boolean): void {
    assert.deepEqual(this.#breaches, [])
    this.#checkView()
    const held = this.#held().filter(({ lease }) => !lease.revoked.aborted)
    for (const { options, engine } of this.slot.runtime.starts) {
      if (engine.stops.length === 0) continue
      const under = held.filter(({ lease }) => lease.attemptId === options.attemptId)
      assert.deepEqual(under, [], 'stopped under an unrevoked lease')
    }
    if (isSettled) this.#checkRest(held.length)
  }

  /** What resolution reads is what the row says. */
  #checkView(): void {
    const { view } = this.slot
    const {
      name,
      aliases,
      type,
      default: isDefault,
      state,
      idle_reason,
      model_id,
      device,
      runner,
      ...row
    } = this.slot.row()
    const shown = [
      view.name,
      view.aliases,
      view.type,
      view.default,
      view.state,
      view.idle_reason,
      view.model_id,
      view.device,
    ]
    assert.deepEqual(shown, [name, aliases, type, isDefault, state, idle_reason, model_id, device])
    const lastUsedMs = row.last_used_at === null ? 0 : Date.parse(row.last_used_at)
    assert.deepEqual([view.runner, view.in_flight, view.lastUsedMs], [runner, row.in_flight, lastUsedMs])
  }

  #checkRest(inFlight: number): void {
    const row = this.slot.row()
    for (const { options, engine } of this.slot.runtime.starts) if (!engine.isAlive) this.#dead.add(options.attemptId)
    assert.deepEqual(row.in_flight, inFlight)
    assert.deepEqual(row.queued, this.#waiting().length, 'the row counts those who wait')
    const [running] = this.slot.runtime.running
    if (running === undefined && row.state === 'offline' && this.#desk.waiting + this.#pulls.waiting === 0)
      assert.deepEqual(row.queued, 0, 'waits at a slot where nothing happens')
    const isUp = ['ready', 'serving', 'idle'].includes(row.state) && row.idle_reason !== 'no_model'
    if (!isUp || row.message.startsWith('stopping when')) return
    const isClaimed = this.#claims.some(({ isOver }) => !isOver)
    if (isClaimed) assert.notDeepEqual(row.in_flight, 0, 'claimed, used by nobody, and still up')
    const attempt = this.slot.runtime.starts.find((one) => one.engine === running)?.options.attemptId
    const has = attempt === undefined ? undefined : this.slot.modelOf(attempt)
    const waiting = this.#waiting()
    const areAllMine = waiting.every(({ modelId }) => modelId === undefined || modelId === has)
    if (areAllMine && !isClaimed && row.in_flight < PARALLEL)
      assert.deepEqual(waiting.length, 0, 'could be served and waits')
    // While the files are silent nobody knows whether the next model could start.
    if (row.in_flight === 0 && !this.#areFilesHeld) assert.deepEqual(waiting.length, 0, 'nobody holds it and they wait')
  }

  /** Nothing more is wanted: everything has to come to rest. */
  async end(): Promise<void> {
    const { slot } = this
    this.#areFilesHeld = false
    this.#desk.isHolding = false
    slot.setFiles('same')
    slot.broken.clear()
    slot.unregistered.clear()
    slot.lookLive('alive')
    slot.refuseStarts(undefined)
    for (let round = 0; round < 60 && this.#open.size > 0; round++) {
      await slot.settle()
      this.#desk.answer('admit')
      this.#pulls.answer('done')
      await slot.settle()
      this.#say('ready')
      await slot.settle()
      this.#judge('passed')
      await slot.settle()
      for (const held of this.#held()) {
        held.isReleased = true
        held.lease.release()
      }
      await slot.settle()
      if (round % 4 === 3) await slot.clock.advance(45_000)
      await slot.settle()
      this.check(true)
    }
    assert.deepEqual([...this.#open.values()], [], 'never answered')
    const closed = slot.close({ drainMs: 0, keepEngine: false })
    await slot.settle()
    await slot.clock.advance(45_000)
    await closed
    this.#checkLeftovers()
  }

  #checkLeftovers(): void {
    const { slot } = this
    // A look that is still on its way sees nothing any more.
    slot.say({ kind: 'silent' })
    assert.deepEqual(slot.clock.pendingTimers, 0)
    assert.deepEqual(slot.asked(), 0, 'an engine is still asked')
    assert.deepEqual(this.#desk.waiting + this.#pulls.waiting, 0, 'something is still waited for')
    assert.deepEqual(this.#desk.open.stops, 0, 'the desk was never told that a process had ended')
    const { length: alive } = slot.runtime.running
    if (!this.#mayStay) assert.deepEqual(alive, 0)
    assert.ok(slot.opened.ports <= alive, 'ports of nobody')
    if (alive === 0) assert.deepEqual(this.#desk.open.promises, 0, 'the desk promises memory to nobody')
    const steps = slot.events.filter(({ type }) => type === 'slot.state').map(({ data }) => data)
    for (const { from, to, forced } of steps) {
      const isLegal = forced === true || isLegalTransition(from as SlotState, to as SlotState)
      assert.deepEqual(isLegal, true, `${String(from)} → ${String(to)}`)
    }
    assert.ok(slot.events.length < 4_000, 'a storm of events')
  }

  /** Also what the sockets of a run are: closed when a moment has passed. */
  async checkClosed(): Promise<void> {
    await this.slot.settle()
    assert.deepEqual(
      this.slot.opened.probers + this.slot.opened.liveLooks,
      0,
      'a connection to an engine was left open',
    )
  }

  #onStart(plan: LaunchPlan): void {
    const modelId = this.slot.modelOfPlan(plan) ?? ''
    if (this.slot.runtime.running.length > 0) this.#breaches.push('started before the predecessor was dead')
    const held = this.#held().filter(({ lease }) => !lease.revoked.aborted)
    if (held.length > 0) this.#breaches.push('started under an unrevoked lease')
    if (this.#desk.open.promises !== 1) this.#breaches.push(`started with ${this.#desk.open.promises} promises`)
    if (this.#desk.open.stops > 0) this.#breaches.push('started while the desk waits for memory of a stop')
    try {
      this.#oracle.check(modelId)
    } catch (cause) {
      this.#breaches.push(String(cause))
    }
    this.#loadedModelId = modelId
  }

  #hear(event: NewEvent): void {
    this.#oracle.hear(event, this.#loadedModelId)
    const { from, to, reason } = event.data
    if (event.type === 'slot.evicted' && reason === 'idle' && this.slot.row().pinned)
      this.#breaches.push('a pinned slot was unloaded because nobody used it')
    if (event.type !== 'slot.state' || to !== 'ready' || (from !== 'warming' && from !== 'idle')) return
    // It has come up: those who wait now are served before it makes way.
    for (const claim of this.#claims) if (!claim.isOver) claim.servesBefore = this.#arrived
  }

  /** What is refused leaves no trace: the row says the same as before. */
  #leaseNow({ modelId, waitMs, key }: Extract<Step, { do: 'acquire' }>): void {
    const before = this.slot.row()
    const lease = this.slot.leaseNow(modelId)
    if (lease === undefined) {
      assert.deepEqual(this.slot.row(), before, 'a refusal left a trace')
      return this.#acquire(modelId, waitMs, key)
    }
    if (before.queued > 0) this.#breaches.push('a lease past those who wait')
    if (before.in_flight >= PARALLEL) this.#breaches.push('a lease beyond the places')
    if (before.message.startsWith('stopping when')) this.#breaches.push('a lease while it drains')
    assert.deepEqual(this.slot.row().in_flight, before.in_flight + 1)
    this.#granted({ modelId, nth: this.#arrived++, leave: new AbortController(), isOver: true }, lease)
  }

  #acquire(modelId: string | undefined, waitMs: number, key?: string): void {
    const leave = new AbortController()
    const wait: Wait = { modelId, nth: this.#arrived++, leave, isOver: false }
    this.#waits.push(wait)
    const model = modelId === undefined ? {} : { modelId }
    const lease = this.slot.acquire({ waitMs, signal: leave.signal, ...model, ...(key === undefined ? {} : { key }) })
    this.#track(`acquire ${modelId}`, lease)
    lease.then(
      (got) => {
        wait.isOver = true
        this.#granted(wait, got)
      },
      () => {
        wait.isOver = true
      },
    )
  }

  #granted({ modelId, nth }: Wait, lease: Lease): void {
    this.#leases.push({ lease, isReleased: false })
    const { attemptId, revoked } = lease
    const has = this.slot.modelOf(attemptId)
    if (modelId !== undefined && has !== modelId) this.#breaches.push(`asked ${modelId}, got ${has}`)
    const start = this.slot.runtime.starts.find((one) => one.options.attemptId === attemptId)
    const isKnownDead = start === undefined || this.#dead.has(attemptId)
    if (isKnownDead && !revoked.aborted) this.#breaches.push('a lease on an engine that is not alive')
    if (this.#knobs.isGated && !this.#sane.has(attemptId)) this.#breaches.push('a lease before the gate was passed')
    const isBarred = this.#claims.some(({ isOver, servesBefore }) => !isOver && nth >= servesBefore)
    if (isBarred) this.#breaches.push('a lease for somebody who came after a claim')
  }

  #evict(): void {
    const { slot } = this
    const before = slot.row()
    const held = this.#held().filter(({ lease }) => !lease.revoked.aborted)
    const [running] = slot.runtime.running
    const outcome = slot.evict()
    const isGoing = slot.row().state === 'unloading' && before.state !== 'unloading'
    const mayGo = !before.pinned && !this.#isLanes && held.length === 0 && before.queued === 0
    if (isGoing && !mayGo) this.#breaches.push('what must not go was evicted')
    this.#track(
      'evict',
      outcome.then((said) => {
        if ((said === 'evicted') !== isGoing) this.#breaches.push(`evict said ${said}`)
        if (said === 'evicted' && running?.isAlive === true) this.#breaches.push('evicted, and alive')
      }),
    )
  }

  #claim({ untilReady, reason }: Extract<Step, { do: 'claim' }>): void {
    const [running] = this.slot.runtime.running
    const claim: ClaimMade = { servesBefore: this.#arrived, isOver: false, giveUp: () => made.giveUp() }
    const end = (said: EvictionOutcome) => {
      claim.isOver = true
      if (said === 'evicted' && running?.isAlive === true) this.#breaches.push('gone, and alive')
    }
    const made = this.slot.claim(untilReady, reason)
    this.#claims.push(claim)
    this.#track('claim', made.gone.then(end))
  }

  #say(kind: Extract<Step, { do: 'say' }>['kind']): void {
    if (kind === 'ready') this.slot.say({ kind, parallel: PARALLEL })
    else if (kind === 'stranger') this.slot.say({ kind, reason: 'x' })
    else this.slot.say({ kind })
  }

  #judge(kind: SanityVerdict['kind']): void {
    const attemptId = this.slot.runtime.starts.find(({ engine }) => engine.isAlive)?.options.attemptId
    const isAsked = this.slot.asked() > 0
    if (isAsked && attemptId !== undefined && (kind === 'passed' || kind === 'unsupported')) this.#sane.add(attemptId)
    if (kind === 'failed') this.slot.judge({ kind, sample: '????', why: 'only one token' })
    else if (kind === 'ambiguous') this.slot.judge({ kind, why: 'no answer within 20 s' })
    else this.slot.judge({ kind })
  }

  /** `isPersons`: somebody wants it started, whatever failed before. */
  #track(what: string, promise: Promise<unknown>, isPersons = false): void {
    const id = this.#nextWish++
    this.#open.set(id, what)
    const answered = isPersons ? this.#oracle.person() : () => {}
    void promise
      .catch(() => undefined)
      .finally(() => {
        answered()
        this.#open.delete(id)
      })
  }

  #held(): { readonly lease: Lease; isReleased: boolean }[] {
    return this.#leases.filter(({ isReleased }) => !isReleased)
  }

  #waiting(): Wait[] {
    return this.#waits.filter(({ isOver }) => !isOver)
  }
}

function imageModeError(): Hal0Error {
  return Hal0Error.of('gpu.image_mode', 'the GPU makes images', { retryAfterS: 5 })
}

function pickOf<T>(from: readonly T[], pick: number): T | undefined {
  return from[pick % Math.max(1, from.length)]
}

function toggle(set: Set<string>, value: string): void {
  if (!set.delete(value)) set.add(value)
}
