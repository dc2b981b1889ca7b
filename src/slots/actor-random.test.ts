import assert from 'node:assert/strict'
import fc from 'fast-check'
import { it } from 'vitest'
import { type ActorHarness, openActor } from '../../test/support/actor-harness.ts'
import type { SlotState } from '../contract/slot-state.ts'
import { isLegalTransition } from './rules/transitions.ts'
import type { Lease } from './slots.ts'

/**
 * Any order of wishes, requests, deaths and files. What always holds: one process at a time, and none is stopped or begun under a lease that was
 * not revoked; a lease is on the model that was asked for; who can be served is served; every wish is answered; every step of the state is a
 * legal one; nothing stays behind. RUNS=60000 looks longer.
 */
const MODELS = ['m', 'n', 'o'] as const
const PARALLEL = 2

type Step =
  | { readonly do: 'acquire'; readonly modelId: string | undefined; readonly waitMs: number }
  | { readonly do: 'release' | 'withdraw'; readonly pick: number }
  | { readonly do: 'unload' | 'restart'; readonly drainMs: number }
  | { readonly do: 'swap'; readonly modelId: string | undefined; readonly drainMs: number }
  | { readonly do: 'advance'; readonly ms: number }
  | { readonly do: 'exit'; readonly code: number }
  | { readonly do: 'toggle_broken' | 'toggle_unregistered'; readonly modelId: string }
  | { readonly do: 'say'; readonly kind: 'ready' | 'no_model' | 'loading' | 'stranger' }
  | { readonly do: 'close'; readonly drainMs: number; readonly keepEngine: boolean }
  | {
      readonly do:
        | 'load'
        | 'look'
        | 'files_wrong'
        | 'files_changed'
        | 'files_same'
        | 'settle'
        | 'close_if_down'
        | 'fail_start'
        | 'hold_files'
    }

const model = fc.constantFrom(...MODELS)
const drainMs = fc.constantFrom(0, 50, 30_000)
const pick = fc.nat(7)
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('acquire'),
      modelId: fc.option(model, { nil: undefined }),
      waitMs: fc.constantFrom(10, 60_000),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('release'), pick }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('withdraw'), pick }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('unload', 'restart'), drainMs }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('swap'), modelId: fc.option(model, { nil: undefined }), drainMs }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('close'), drainMs, keepEngine: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('advance'), ms: fc.constantFrom(1, 60, 1_000, 31_000, 901_000) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('exit'), code: fc.constantFrom(0, 1, 98) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('toggle_broken', 'toggle_unregistered'), modelId: model }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('say'),
      kind: fc.constantFrom('ready', 'ready', 'ready', 'no_model', 'loading', 'stranger'),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constantFrom(
        'load',
        'look',
        'files_wrong',
        'files_changed',
        'files_same',
        'settle',
        'settle',
        'settle',
        'close_if_down',
        'fail_start',
        'hold_files',
      ),
    }),
  },
) as fc.Arbitrary<Step>

interface Wait {
  readonly modelId: string | undefined
  readonly leave: AbortController
  isOver: boolean
}

class Run {
  readonly slot: ActorHarness
  readonly leases: { lease: Lease; isReleased: boolean }[] = []
  readonly waits: Wait[] = []
  readonly open = new Map<number, string>()
  mayStay = false
  areFilesHeld = false
  #next = 0
  readonly breaches: string[] = []

  constructor(knobs: { termDelayMs: number; ignoresTerm: boolean; leavesGrandchild: boolean }) {
    this.slot = openActor({ knobs, parallel: PARALLEL, stopGraceMs: 40_000, queueLimit: 6 })
    this.slot.runtime.beforeStart = () => this.#onStart()
  }

  #onStart(): void {
    if (this.slot.runtime.running.length > 0) this.breaches.push('started before the predecessor was dead')
    const held = this.leases.filter(({ lease, isReleased }) => !isReleased && !lease.revoked.aborted)
    if (held.length > 0) this.breaches.push('started under an unrevoked lease')
  }

  #track(what: string, promise: Promise<unknown>): void {
    const id = this.#next++
    this.open.set(id, what)
    void promise.catch(() => undefined).finally(() => this.open.delete(id))
  }

  acquire(modelId: string | undefined, waitMs: number): void {
    const leave = new AbortController()
    const wait: Wait = { modelId, leave, isOver: false }
    this.waits.push(wait)
    const lease = this.slot.acquire({ waitMs, signal: leave.signal, ...(modelId === undefined ? {} : { modelId }) })
    this.#track(`acquire ${modelId}`, lease)
    lease.then(
      (got) => {
        wait.isOver = true
        this.leases.push({ lease: got, isReleased: false })
        const has = this.slot.modelOf(got.attemptId)
        if (modelId !== undefined && has !== modelId) this.breaches.push(`asked ${modelId}, got ${has}`)
      },
      () => {
        wait.isOver = true
      },
    )
  }

  async take(step: Step): Promise<void> {
    const { slot } = this
    switch (step.do) {
      case 'acquire':
        return this.acquire(step.modelId, step.waitMs)
      case 'release': {
        const held = this.leases.filter(({ isReleased }) => !isReleased)
        const one = held[step.pick % Math.max(1, held.length)]
        if (one !== undefined) {
          one.isReleased = true
          one.lease.release()
        }
        return
      }
      case 'withdraw': {
        const waiting = this.waits.filter(({ isOver }) => !isOver)
        waiting[step.pick % Math.max(1, waiting.length)]?.leave.abort(new Error('left'))
        return
      }
      case 'unload':
        return this.#track('unload', slot.unload(step.drainMs))
      case 'restart':
        return this.#track('restart', slot.restart(step.drainMs))
      case 'swap':
        return this.#track('swap', slot.swap(step.modelId, step.drainMs))
      case 'load':
        return this.#track('load', slot.load())
      case 'look':
        return this.#track('look', slot.look())
      case 'close_if_down':
        return this.#track('close_if_down', slot.closeIfDown())
      case 'close':
        this.mayStay ||= step.keepEngine
        return this.#track('close', slot.close(step))
      case 'advance':
        return await slot.clock.advance(step.ms)
      case 'exit':
        return slot.runtime.running[0]?.exit({ code: step.code })
      case 'toggle_broken':
        return toggle(slot.broken, step.modelId)
      case 'toggle_unregistered':
        return toggle(slot.unregistered, step.modelId)
      case 'say':
        return slot.say(
          step.kind === 'ready'
            ? { kind: 'ready', parallel: PARALLEL }
            : step.kind === 'stranger'
              ? { kind: 'stranger', reason: 'x' }
              : { kind: step.kind },
        )
      case 'files_wrong':
        this.areFilesHeld = false
        return slot.setFiles(new Error('wrong'))
      case 'files_changed':
        this.areFilesHeld = false
        return slot.setFiles('changed')
      case 'files_same':
        this.areFilesHeld = false
        return slot.setFiles('same')
      case 'hold_files':
        this.areFilesHeld = true
        return slot.holdFiles()
      case 'fail_start':
        slot.failNextStart('no such program')
        return
      case 'settle':
        return await slot.settle()
    }
  }

  check(isSettled: boolean): void {
    assert.deepEqual(this.breaches, [])
    for (const { plan: _plan, options, engine } of this.slot.runtime.starts) {
      if (engine.stops.length === 0) continue
      const held = this.leases.filter(
        ({ lease, isReleased }) => lease.attemptId === options.attemptId && !isReleased && !lease.revoked.aborted,
      )
      assert.deepEqual(held, [], 'stopped under an unrevoked lease')
    }
    const held = this.leases.filter(({ lease, isReleased }) => !isReleased && !lease.revoked.aborted)
    if (!isSettled) return
    const row = this.slot.row()
    assert.deepEqual(row.in_flight, held.length)
    if (row.state !== 'ready' && row.state !== 'serving') return
    if (row.message.startsWith('stopping when')) return
    const running = this.slot.runtime.running[0]
    const attempt = this.slot.runtime.starts.find((one) => one.engine === running)?.options.attemptId
    const has = attempt === undefined ? undefined : this.slot.modelOf(attempt)
    const waiting = this.waits.filter(({ isOver }) => !isOver)
    const areAllMine = waiting.every(({ modelId }) => modelId === undefined || modelId === has)
    if (areAllMine && row.in_flight < PARALLEL) assert.deepEqual(waiting.length, 0, 'could be served and waits')
    // While the files are silent nobody knows whether the next model could start.
    if (row.in_flight === 0 && !this.areFilesHeld) assert.deepEqual(waiting.length, 0, 'nobody holds it and they wait')
  }

  /** Nothing more is wanted: everything has to come to rest. */
  async end(): Promise<void> {
    const { slot } = this
    this.areFilesHeld = false
    slot.setFiles('same')
    slot.broken.clear()
    slot.unregistered.clear()
    for (let round = 0; round < 40 && this.open.size > 0; round++) {
      await slot.settle()
      slot.say({ kind: 'ready', parallel: PARALLEL })
      await slot.settle()
      for (const held of this.leases) {
        held.isReleased = true
        held.lease.release()
      }
      await slot.settle()
      if (round % 4 === 3) await slot.clock.advance(45_000)
      this.check(true)
    }
    assert.deepEqual([...this.open.values()], [], 'never answered')
    const closed = slot.close({ drainMs: 0, keepEngine: false })
    await slot.settle()
    await slot.clock.advance(45_000)
    await closed
    if (!this.mayStay) assert.deepEqual(slot.runtime.running, [])
    assert.deepEqual(slot.clock.pendingTimers, 0)
    const steps = slot.events.filter(({ type }) => type === 'slot.state').map(({ data }) => data)
    for (const { from, to, forced } of steps) {
      const isLegal = forced === true || isLegalTransition(from as SlotState, to as SlotState)
      assert.deepEqual(isLegal, true, `${String(from)} → ${String(to)}`)
    }
    assert.ok(slot.events.length < 4_000, 'a storm of events')
  }
}

function toggle(set: Set<string>, value: string): void {
  if (!set.delete(value)) set.add(value)
}

it('whatever happens in whatever order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        termDelayMs: fc.constantFrom(0, 0, 20, 35_000),
        ignoresTerm: fc.constantFrom(false, false, false, true),
        leavesGrandchild: fc.constantFrom(false, true),
      }),
      fc.array(anyStep, { minLength: 3, maxLength: 40 }),
      async (knobs, steps) => {
        const run = new Run(knobs)
        for (const one of steps) {
          await run.take(one)
          const isSettled = one.do === 'settle' || one.do === 'advance'
          if (isSettled) await run.slot.settle()
          run.check(isSettled)
        }
        await run.end()
      },
    ),
    { numRuns: Number(process.env['RUNS'] ?? 2_000) },
  )
}, 600_000)
