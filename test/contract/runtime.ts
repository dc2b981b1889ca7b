import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { LaunchPlan } from '../../src/contract/launch-plan.ts'
import type { Clock } from '../../src/kernel/clock.ts'
import { Hal0Error } from '../../src/kernel/errors.ts'
import type { EngineProcess, Runtime } from '../../src/runtimes/runtime.ts'

/** What an engine of the suite does. */
export type EngineBehaviour =
  /** Runs until it is told to end, and obeys. */
  | 'obeys'
  /** Runs, and does not hear SIGTERM. */
  | 'ignores-term'
  /** Its main process ends with code 3 when the suite says so (`letExit`). */
  | 'exits-on-demand'
  /** The same, and leaves a process behind. */
  | 'exits-on-demand-and-leaves-grandchild'

/** One implementation under test. `slot` and `attemptId` name the engine. */
export interface RuntimeHarness {
  readonly runtime: Runtime
  readonly clock: Clock
  /** Starts an engine and resolves when it behaves as described. */
  start(behaviour: EngineBehaviour, name: { readonly slot: string; readonly attemptId: string }): Promise<EngineProcess>
  /** Tries to start a program that does not exist. */
  startMissing(plan: LaunchPlan): Promise<EngineProcess>
  letExit(engine: EngineProcess): Promise<void>
  /** Somebody ends the main process with SIGKILL. */
  killMain(engine: EngineProcess): Promise<void>
  /** A manual clock moves; a real one does that by itself. */
  passTime(ms: number): Promise<void>
  /** Whether anything of the attempt is alive, by other means than the runtime's. */
  isAnythingAlive(attemptId: string): boolean
  /** The runtime of the next daemon on the same home. */
  nextRuntime(): Runtime
  /** Ends everything that is left, by id. */
  close(): Promise<void>
}

const LONG_MS = 60_000

/** What every Runtime promises (src/runtimes/runtime.ts). */
export function runtimeContract(name: string, makeHarness: () => Promise<RuntimeHarness>): void {
  describe(`runtime contract: ${name}`, () => {
    let harness: RuntimeHarness
    beforeEach(async () => {
      harness = await makeHarness()
    })
    afterEach(() => harness.close())

    const agent = { slot: 'agent', attemptId: 'a1' }
    const isPending = async (promise: Promise<unknown>) =>
      (await Promise.race([promise.then(() => 'settled'), harness.passTime(0).then(() => 'pending')])) === 'pending'

    it('names a running engine by pid, start and boot, and it has not exited', async () => {
      const engine = await harness.start('obeys', agent)
      expect(engine.ref.pid).toBeGreaterThan(1)
      expect(engine.ref.start_ticks).toBeGreaterThan(0)
      expect(engine.ref.boot_id).not.toBe('')
      expect(harness.isAnythingAlive('a1')).toBe(true)
      expect(await isPending(engine.exited)).toBe(true)
    })

    it('tells the exit code', async () => {
      const engine = await harness.start('exits-on-demand', agent)
      await harness.letExit(engine)
      expect(await engine.exited).toMatchObject({ kind: 'code', code: 3 })
      expect(harness.isAnythingAlive('a1')).toBe(false)
    })

    it('tells the signal that ended it', async () => {
      const engine = await harness.start('obeys', agent)
      await harness.killMain(engine)
      expect(await engine.exited).toMatchObject({ kind: 'signal', signal: 'SIGKILL' })
    })

    it('stops one that obeys before its grace is over', async () => {
      const engine = await harness.start('obeys', agent)
      const beforeMs = harness.clock.monotonicMs()
      expect(await engine.stop({ graceMs: LONG_MS })).toBe('terminated')
      expect(harness.clock.monotonicMs() - beforeMs).toBeLessThan(LONG_MS)
      expect(harness.isAnythingAlive('a1')).toBe(false)
      expect(await engine.exited).toMatchObject({ kind: 'signal', signal: 'SIGTERM' })
    })

    it('kills one that ignores SIGTERM at the deadline, not earlier', async () => {
      const engine = await harness.start('ignores-term', agent)
      const beforeMs = harness.clock.monotonicMs()
      const stopped = engine.stop({ graceMs: 300 })
      await harness.passTime(300)
      expect(await stopped).toBe('killed')
      expect(harness.clock.monotonicMs() - beforeMs).toBeGreaterThanOrEqual(300)
      expect(await engine.exited).toMatchObject({ kind: 'signal', signal: 'SIGKILL' })
      expect(harness.isAnythingAlive('a1')).toBe(false)
    })

    it('kills at once without grace', async () => {
      const engine = await harness.start('ignores-term', agent)
      expect(await engine.stop({ graceMs: 0 })).toBe('killed')
      expect(harness.isAnythingAlive('a1')).toBe(false)
    })

    it('joins repeated stops', async () => {
      const engine = await harness.start('obeys', agent)
      const stops = [engine.stop({ graceMs: LONG_MS }), engine.stop({ graceMs: LONG_MS })]
      expect(await Promise.all(stops)).toEqual(['terminated', 'terminated'])
      expect(await engine.stop({ graceMs: LONG_MS })).toBe('gone')
    })

    it('lets a later stop shorten the grace, never lengthen it', async () => {
      const engine = await harness.start('ignores-term', agent)
      const first = engine.stop({ graceMs: LONG_MS })
      const second = engine.stop({ graceMs: 100 })
      const third = engine.stop({ graceMs: 2 * LONG_MS })
      await harness.passTime(100)
      expect(await Promise.all([first, second, third])).toEqual(['killed', 'killed', 'killed'])
    })

    it('says gone when it was dead before', async () => {
      const engine = await harness.start('exits-on-demand', agent)
      await harness.letExit(engine)
      await engine.exited
      expect(await engine.stop({ graceMs: LONG_MS })).toBe('gone')
    })

    it('does not wait for a grandchild to tell the exit, and still stops it', async () => {
      const engine = await harness.start('exits-on-demand-and-leaves-grandchild', agent)
      await harness.letExit(engine)
      expect(await engine.exited).toMatchObject({ kind: 'code', code: 3 })
      expect(harness.isAnythingAlive('a1')).toBe(true)
      expect(await engine.stop({ graceMs: LONG_MS })).toBe('terminated')
      expect(harness.isAnythingAlive('a1')).toBe(false)
    })

    it('stops one attempt of a slot and leaves another alone', async () => {
      const first = await harness.start('obeys', { slot: 'agent', attemptId: 'a1' })
      const second = await harness.start('obeys', { slot: 'agent', attemptId: 'a11' })
      expect(await first.stop({ graceMs: LONG_MS })).toBe('terminated')
      expect(harness.isAnythingAlive('a11')).toBe(true)
      expect(await isPending(second.exited)).toBe(true)
    })

    it('names the program it cannot start, and the reason', async () => {
      const plan: LaunchPlan = { slot: 'agent', command: ['/nowhere/engine'], flags: [], env: {}, port: 9 }
      const error = await harness.startMissing(plan).catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(Hal0Error)
      expect(error).toMatchObject({ code: 'slot.spawn_failed', details: { program: '/nowhere/engine' } })
      expect(String(error)).toMatch(/agent.*\/nowhere\/engine: \S/)
    })

    it('finds what an earlier daemon left, once per attempt, and nothing of its own', async () => {
      const engine = await harness.start('obeys', agent)
      const other = await harness.start('obeys', { slot: 'coder', attemptId: 'b1' })
      expect(await harness.runtime.findSurvivors([])).toEqual([])
      const found = await harness.nextRuntime().findSurvivors([])
      const summary = found.map(({ slot, attemptId, process }) => ({ slot, attemptId, ref: process.ref }))
      expect(summary).toEqual(
        expect.arrayContaining([
          { slot: 'agent', attemptId: 'a1', ref: engine.ref },
          { slot: 'coder', attemptId: 'b1', ref: other.ref },
        ]),
      )
      expect(summary).toHaveLength(2)
    })

    it('stops a survivor, and then finds it no more', async () => {
      await harness.start('obeys', agent)
      const next = harness.nextRuntime()
      const [survivor] = await next.findSurvivors([])
      expect(await survivor?.process.stop({ graceMs: LONG_MS })).toBe('terminated')
      expect(await survivor?.process.exited).toHaveProperty('atMs')
      expect(harness.isAnythingAlive('a1')).toBe(false)
      expect(await next.findSurvivors([])).toEqual([])
    })

    it('finds and stops what is left of an engine whose first process is gone', async () => {
      const engine = await harness.start('exits-on-demand-and-leaves-grandchild', agent)
      await harness.letExit(engine)
      await engine.exited
      const [survivor] = await harness.nextRuntime().findSurvivors([])
      expect(survivor).toMatchObject({ slot: 'agent', attemptId: 'a1' })
      expect(await survivor?.process.stop({ graceMs: LONG_MS })).toBe('terminated')
      expect(harness.isAnythingAlive('a1')).toBe(false)
    })
  })
}
