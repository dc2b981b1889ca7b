import assert from 'node:assert/strict'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { SlotRow } from '../../src/contract/slot-row.ts'
import type { SlotState } from '../../src/contract/slot-state.ts'
import { type Deferred, deferred } from '../../src/slots/actor/deferred.ts'
import type { EvictionOutcome } from '../../src/slots/admission/residents.ts'
import { isLegalTransition } from '../../src/slots/rules/transitions.ts'
import type { Lease } from '../../src/slots/slots.ts'
import { openRealActor, REAL_MODELS, USELESS_MODELS } from '../support/real-actor.ts'
import { killQuietly, ProcessBench, pidsOf, until } from './runtime-process-harness.ts'

const STEPS = 200

type Step =
  | { readonly do: 'acquire'; readonly modelId: string | undefined }
  | { readonly do: 'unload' | 'restart'; readonly drainMs: number }
  | { readonly do: 'swap'; readonly modelId: string }
  | {
      readonly do:
        | 'load'
        | 'release'
        | 'kill'
        | 'evict'
        | 'claim'
        | 'claim_until_ready'
        | 'give_up'
        | 'rest'
        | 'new_build'
    }

const modelId = fc.constantFrom(...Object.keys(REAL_MODELS), 'quick', 'slow')
const drainMs = fc.constantFrom(0, 20, 30_000)
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('acquire' as const), modelId: fc.option(modelId, { nil: undefined }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('unload' as const, 'restart' as const), drainMs }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('swap' as const), modelId }) },
  {
    weight: 16,
    arbitrary: fc.record({
      do: fc.constantFrom(
        ...(['load', 'load', 'release', 'release', 'kill', 'evict', 'claim', 'claim_until_ready', 'give_up'] as const),
        ...(['rest', 'rest', 'rest', 'rest', 'new_build'] as const),
      ),
    }),
  },
)

/** One slot on a real machine, and what must hold there. */
class RealRun {
  readonly #bench = new ProcessBench()
  readonly slot = openRealActor({
    runtime: this.#bench.runtime,
    logPath: this.#bench.newLogPath(),
    onStart: () => this.#onStart(),
    onStop: (attemptId) => this.#onStop(attemptId),
  })
  readonly breaches: string[] = []
  served = 0
  readonly #open = new Map<number, string>()
  readonly #leases = new Set<Lease>()
  readonly #claims: { giveUp(): void }[] = []
  readonly #killed = new Set<string>()
  #nextWish = 0

  take(step: Step): Promise<void> | void {
    const { actor } = this.slot
    switch (step.do) {
      case 'acquire':
        return this.#acquire(step.modelId)
      case 'release':
        return this.#release([...this.#leases].slice(0, 1))
      case 'load':
        return this.#wish('load', (answer) => actor.post({ type: 'load', by: 'person', answer }))
      case 'unload':
      case 'restart':
        return this.#wish(step.do, (answer) => actor.post({ type: step.do, drainMs: step.drainMs, answer }))
      case 'swap': {
        const override = { modelId: step.modelId }
        return this.#wish('swap', (answer) => actor.post({ type: 'swap', override, drainMs: 100, answer }))
      }
      case 'kill': {
        const last = this.slot.starts.at(-1)
        if (last === undefined) return
        this.#killed.add(last.attemptId)
        return killQuietly(last.process.ref.pid)
      }
      case 'evict':
      case 'claim':
      case 'claim_until_ready':
        return this.#ask(step.do)
      case 'give_up':
        return this.#claims.pop()?.giveUp()
      case 'new_build':
        return this.slot.newBuild()
      case 'rest':
        return this.rest()
    }
  }

  /** Nobody holds anything: everything that was asked has its answer, and one process at most is there. */
  async rest(): Promise<void> {
    await until(`rest (open: ${[...this.#open.values()].join(', ')}; ${this.#row()})`, () => {
      this.#release([...this.#leases])
      return this.#open.size === 0 && this.#leases.size === 0
    })
    const { state, in_flight: inFlight, queued } = this.slot.actor.row()
    assert.ok(queued === 0, `${queued} wait at a slot that is ${state}`)
    assert.ok(inFlight === 0 || state === 'serving')
  }

  async end(): Promise<void> {
    const { actor, desk, opened, faults, events } = this.slot
    await this.rest()
    const answer = deferred<void>()
    actor.post({ type: 'close', why: 'daemon_stops', drainMs: 0, keepEngine: false, answer })
    await answer.promise
    assert.deepEqual(pidsOf(this.#bench.homeId), [], 'a process was left')
    assert.deepEqual(faults, [])
    // The last promise and port come back with the exit that the slot was told of.
    await until('ports and promises are given back', () => opened.ports === 0 && desk.open.promises === 0)
    assert.deepEqual(desk.open.stops, 0)
    for (const { type, data } of events) {
      if (type !== 'slot.state') continue
      const isLegal = data['forced'] === true || isLegalTransition(data['from'] as SlotState, data['to'] as SlotState)
      assert.ok(isLegal, `${String(data['from'])} → ${String(data['to'])}`)
    }
  }

  /** Ends by pid whatever a failed test has left. */
  async close(): Promise<void> {
    await this.#bench.close()
  }

  #row(): string {
    const { state, message } = this.slot.actor.row()
    return `${state} ${message}`
  }

  #onStart(): void {
    if (pidsOf(this.#bench.homeId).length > 0) this.breaches.push('started before the predecessor was dead')
    if (this.#unrevoked().length > 0) this.breaches.push('started under an unrevoked lease')
    if (this.slot.desk.open.promises !== 1) this.breaches.push('started without leave of the desk')
  }

  #onStop(attemptId: string): void {
    const under = this.#unrevoked().filter((lease) => lease.attemptId === attemptId)
    if (under.length > 0) this.breaches.push('stopped under an unrevoked lease')
  }

  #unrevoked(): Lease[] {
    return [...this.#leases].filter(({ revoked }) => !revoked.aborted)
  }

  #acquire(wanted: string | undefined): void {
    const lease = new Promise<Lease>((resolve, reject) => {
      this.slot.actor.post({ type: 'acquire', waiter: { resolve, reject, waitMs: 30_000, modelId: wanted } })
    })
    this.#track(
      'request',
      lease.then((got) => this.#use(got, wanted)),
    )
  }

  /** A lease is good for one answer, unless it was given or taken back before, or the engine was killed. */
  async #use(lease: Lease, wanted: string | undefined): Promise<void> {
    this.#leases.add(lease)
    const { attemptId, endpoint, revoked } = lease
    const start = this.slot.starts.find((one) => one.attemptId === attemptId)
    if (start === undefined) return void this.breaches.push('a lease on an engine that was never started')
    if (wanted !== undefined && start.modelId !== wanted) this.breaches.push(`asked ${wanted}, got ${start.modelId}`)
    if (USELESS_MODELS.has(start.modelId)) this.breaches.push(`a lease on ${start.modelId}`)
    const status = await answerOf(endpoint.origin, endpoint.engineKey ?? '', revoked)
    if (status === 200) this.served++
    else if (!revoked.aborted && this.#leases.has(lease) && !this.#killed.has(attemptId))
      this.breaches.push(`a lease was answered ${status}`)
  }

  #release(leases: readonly Lease[]): void {
    for (const lease of leases) {
      this.#leases.delete(lease)
      lease.release('answered')
    }
  }

  #ask(what: 'evict' | 'claim' | 'claim_until_ready'): void {
    const answer = deferred<EvictionOutcome>()
    const ticket = { reason: 'preload', untilReady: what === 'claim_until_ready', answer } as const
    this.slot.actor.post({ type: what === 'evict' ? 'evict' : 'claim', ticket })
    if (what !== 'evict') this.#claims.push({ giveUp: () => this.slot.actor.post({ type: 'give_up_claim', ticket }) })
    this.#track(what, answer.promise)
  }

  #wish(what: string, post: (answer: Deferred<SlotRow>) => void): void {
    const answer = deferred<SlotRow>()
    post(answer)
    this.#track(what, answer.promise)
  }

  #track(what: string, promise: Promise<unknown>): void {
    const id = this.#nextWish++
    this.#open.set(id, what)
    void promise.catch(() => undefined).finally(() => this.#open.delete(id))
  }
}

/** The status of one chat answer; what went wrong, where there is none. */
async function answerOf(origin: string, key: string, signal: AbortSignal): Promise<number | string> {
  try {
    const answer = await fetch(`${origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ model: 's', messages: [{ role: 'user', content: 'hello' }], max_tokens: 4 }),
      signal,
    })
    await answer.arrayBuffer()
    return answer.status
  } catch (cause) {
    return String(cause)
  }
}

it(`${STEPS} steps of a slot with real processes`, { timeout: 240_000 }, async () => {
  const seed = Number(process.env['SEED'] ?? Math.trunc(Math.random() * 1e9))
  const run = new RealRun()
  const steps = fc.sample(anyStep, { seed, numRuns: STEPS })
  let taken = 0
  try {
    for (const step of steps) {
      await run.take(step)
      taken++
      assert.deepEqual(run.breaches, [])
    }
    await run.end()
    assert.deepEqual(run.breaches, [])
    expect(taken).toBe(STEPS)
    // A run in which nothing ever served, or nothing ever began anew, would prove little.
    expect(run.served).toBeGreaterThan(5)
    expect(run.slot.starts.length).toBeGreaterThan(10)
  } catch (cause) {
    throw new Error(`SEED=${seed}, after step ${taken} (${JSON.stringify(steps[taken])})`, { cause })
  } finally {
    await run.close()
  }
})
