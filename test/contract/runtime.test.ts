import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../src/kernel/clock.ts'
import type { EngineProcess } from '../../src/runtimes/runtime.ts'
import { type FakeEngine, FakeRuntime, spawnFailed } from '../support/fake-runtime.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { type EngineBehaviour, type RuntimeHarness, runtimeContract } from './runtime.ts'
import { killQuietly, ProcessBench, pidsOf } from './runtime-process-harness.ts'

runtimeContract('fake', async (): Promise<RuntimeHarness> => {
  const clock = new ManualClock()
  const runtime = new FakeRuntime(clock)
  const engineOf = (process: EngineProcess) => {
    const start = runtime.starts.find(({ engine }) => engine === process)
    if (start === undefined) throw new Error('not an engine of this runtime')
    return start.engine
  }
  const started: [attemptId: string, engine: FakeEngine][] = []
  return {
    runtime,
    clock,
    async start(behaviour, { slot, attemptId }) {
      runtime.beforeStart = (_plan, knobs) => {
        knobs.ignoresTerm = behaviour === 'ignores-term'
        knobs.leavesGrandchild = behaviour === 'exits-on-demand-and-leaves-grandchild'
      }
      const plan = { slot, command: ['engine'] as const, flags: [], env: {}, port: 9 }
      const engine = await runtime.start(plan, { attemptId, secretEnv: {}, logPath: '/nowhere.log' })
      started.push([attemptId, engine])
      return engine
    },
    async startMissing(plan) {
      runtime.beforeStart = (missing) => {
        throw spawnFailed(missing, 'there is no such file')
      }
      return await runtime.start(plan, { attemptId: 'a1', secretEnv: {}, logPath: '/nowhere.log' })
    },
    letExit: async (engine) => engineOf(engine).exit({ code: 3 }),
    killMain: async (engine) => engineOf(engine).exit({ signal: 'SIGKILL' }),
    passTime: (ms) => clock.advance(ms),
    isAnythingAlive: (attemptId) => started.some(([id, engine]) => id === attemptId && engine.isAlive),
    nextRuntime: () => runtime.restarted(),
    close: async () => {},
  }
})

const WAIT_FOR_FILE = (file: string) => `while [ ! -e '${file}' ]; do sleep 0.02; done; exit 3`

runtimeContract('process', async (): Promise<RuntimeHarness> => {
  const bench = new ProcessBench()
  const mayExit = join(bench.folder, 'may-exit')
  const scripts: Record<EngineBehaviour, string> = {
    obeys: 'echo up; exec sleep 600',
    'ignores-term': 'trap "" TERM; echo up; while :; do sleep 1; done',
    'exits-on-demand': `echo up; ${WAIT_FOR_FILE(mayExit)}`,
    'exits-on-demand-and-leaves-grandchild': `sleep 600 & echo up; ${WAIT_FOR_FILE(mayExit)}`,
  }
  return {
    runtime: bench.runtime,
    clock: systemClock,
    start: async (behaviour, name) => (await bench.start(scripts[behaviour], name)).engine,
    startMissing: (plan) => bench.runtime.start(plan, { attemptId: 'a1', secretEnv: {}, logPath: bench.newLogPath() }),
    letExit: async () => writeFileSync(mayExit, ''),
    killMain: async (engine) => killQuietly(engine.ref.pid),
    passTime: async () => {},
    isAnythingAlive: (attemptId) => pidsOf(bench.homeId, attemptId).length > 0,
    nextRuntime: () => bench.newRuntime(),
    close: () => bench.close(),
  }
})
