import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/kernel/clock.ts'
import { silentLog } from '../../src/kernel/log.ts'
import { watchAdopted } from '../../src/runtimes/process/engine-exit.ts'
import { EngineFamily } from '../../src/runtimes/process/engine-family.ts'
import { isAlive, readBootId, readProcStat } from '../../src/runtimes/process/proc.ts'
import { ProcessEngine } from '../../src/runtimes/process/process-engine.ts'
import { killQuietly, ProcessBench, pidsOf, statLineOf, until } from './runtime-process-harness.ts'

/** Far longer than a test may take: who waits for it has failed. */
const LONG_MS = 600_000
const DEAF = 'trap "" TERM; echo up; while :; do sleep 1; done'

let bench: ProcessBench
const children: ChildProcess[] = []
beforeEach(() => {
  bench = new ProcessBench()
})
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  await bench.close()
})

/** The pid that a script has printed as `NAME=PID`. */
function pidIn(log: () => string, name: string): Promise<number> {
  return until(`the script tells ${name}`, () => {
    const pid = new RegExp(`^${name}=(\\d+)$`, 'm').exec(log())?.[1]
    return pid === undefined ? undefined : Number(pid)
  })
}

describe('stop ends the whole engine', () => {
  it('begins with the signal that the engine wants', async () => {
    const script = 'trap "" TERM; trap "echo told; exit 0" INT; echo up; while :; do sleep 0.05; done'
    const { engine, log } = await bench.start(script, { plan: { stopSignal: 'SIGINT' } })
    expect(await engine.stop({ graceMs: LONG_MS })).toBe('terminated')
    expect(log()).toContain('told')
  })

  it('reads the command line of the process while it lives', async () => {
    const { engine } = await bench.start('echo up; exec sleep "600"')
    expect(await engine.readArgv()).toEqual(['sleep', '600'])
    await engine.stop({ graceMs: 0 })
    expect(await engine.readArgv()).toBeUndefined()
  })

  it('kills at the deadline a grandchild that left the group and ignores SIGTERM', async () => {
    const { engine } = await bench.start(`setsid sh -c '${DEAF}' & exec sleep 600`)
    expect(pidsOf(bench.homeId).length).toBeGreaterThanOrEqual(2)
    expect(await engine.stop({ graceMs: 300 })).toBe('killed')
    expect(pidsOf(bench.homeId)).toEqual([])
    expect(await engine.exited).toMatchObject({ kind: 'signal', signal: 'SIGTERM' })
  })

  it('asks a grandchild that left the group, too', async () => {
    const { engine, log } = await bench.start(
      `setsid sh -c 'trap "echo left; exit" TERM; echo up; while :; do sleep 0.02; done' & exec sleep 600`,
    )
    expect(await engine.stop({ graceMs: LONG_MS })).toBe('terminated')
    expect(log()).toContain('left')
  })

  it('ends a descendant without cookie in a session of its own', async () => {
    const { engine, log } = await bench.start('env -i setsid sleep 600 & echo child=$!; echo up; exec sleep 600')
    const child = await pidIn(log, 'child')
    await until('it has cleared its environment', () => !pidsOf(bench.homeId).includes(child))
    expect(await engine.stop({ graceMs: LONG_MS })).toBe('terminated')
    expect(statLineOf(child)).toBeUndefined()
  })

  it('remembers such a descendant when the one that started it is gone', async () => {
    const { engine, log } = await bench.start(
      `env -i PATH="$PATH" setsid sh -c '${DEAF}' & echo child=$!; exec sleep 600`,
    )
    const child = await pidIn(log, 'child')
    try {
      expect(await engine.stop({ graceMs: 300 })).toBe('killed')
      expect(statLineOf(child)).toBeUndefined()
    } finally {
      // Without a cookie nobody else finds it.
      if (statLineOf(child)) killQuietly(child)
    }
  })

  it('ends an engine behind a wrapper script', async () => {
    const { engine, log } = await bench.start('sh -c "echo child=\\$\\$; echo up; sleep 600; true"; true')
    const child = await pidIn(log, 'child')
    expect(child).not.toBe(engine.ref.pid)
    expect(await engine.stop({ graceMs: LONG_MS })).toBe('terminated')
    expect(statLineOf(child)).toBeUndefined()
  })

  it('outruns one that forks all the time and ignores SIGTERM', async () => {
    const { engine } = await bench.start('trap "" TERM; echo up; while :; do (sleep 0.1; sleep 0.1) & sleep 0.01; done')
    expect(await engine.stop({ graceMs: 200 })).toBe('killed')
    expect(pidsOf(bench.homeId)).toEqual([])
  })

  it('sends SIGTERM once to each, however often it looks, also to those who come later', async () => {
    const { engine, log } = await bench.start(
      'trap "echo term; sleep 600 & echo child=\\$!" TERM; echo up; while :; do echo tick; sleep 0.02 & wait $!; done',
    )
    const { pid, start_ticks: startTicks } = engine.ref
    const family = new EngineFamily({ pid, startTicks, groupId: pid, cookie: `${bench.homeId}:agent:a1` }, silentLog)
    family.ask(await family.look())
    const child = await pidIn(log, 'child')
    // Until then it is a copy of the shell, traps included, and may swallow the signal.
    await until('the child is sleep', () => statLineOf(child)?.includes('(sleep)'))
    family.ask(await family.look())
    await until('the child that came later has ended', () => statLineOf(child) === undefined)
    family.ask(await family.look())
    const ticks = () => log().split('tick').length
    const before = ticks()
    await until('it has gone on, traps included', () => ticks() > before + 2)
    expect(log().match(/^term$/gm)).toHaveLength(1)
    expect(await engine.stop({ graceMs: 0 })).toBe('killed')
  })

  it('ends one that is stopped (SIGSTOP)', async () => {
    const { engine } = await bench.start('echo up; kill -STOP $$; exec sleep 600')
    await until('it stands still', () => statLineOf(engine.ref.pid)?.includes(') T '))
    expect(await engine.stop({ graceMs: 100 })).toBe('killed')
  })

  it('does not wait for a zombie that nobody collects', async () => {
    const { engine, log } = await bench.start('sleep 0.1 & echo child=$!; echo up; exec sleep 600')
    const child = await pidIn(log, 'child')
    await until('the child is a zombie', () => readProcStat(child)?.state === 'Z')
    expect(await engine.stop({ graceMs: LONG_MS })).toBe('terminated')
  })

  it('signals nobody when the pid belongs to another process by now', async () => {
    const stranger = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' })
    children.push(stranger)
    const pid = stranger.pid ?? 0
    const stat = readProcStat(pid)
    const startTicks = (stat?.startTicks ?? 0) - 1
    const watch = watchAdopted({ pid, startTicks }, systemClock)
    const deps = { clock: systemClock, log: silentLog, bootId: readBootId(), homeId: bench.homeId }
    const engine = new ProcessEngine({ pid, startTicks, cookie: `${bench.homeId}:agent:a1`, groupId: pid }, watch, deps)
    expect(isAlive(pid, startTicks)).toBe(false)
    expect(isAlive(pid, startTicks + 1)).toBe(true)
    expect(await engine.stop({ graceMs: 0 })).toBe('gone')
    expect(await engine.exited).toMatchObject({ kind: 'unknown' })
    expect(statLineOf(pid)).toBeDefined()
  })
})

describe('after kill -9 of the daemon', () => {
  const program = fileURLToPath(new URL('./fixtures/engine-parent.mjs', import.meta.url))

  /** Another daemon, with one engine that runs `script`. */
  async function startDaemon(script: string) {
    const logPath = bench.newLogPath()
    const daemon = spawn(process.execPath, [program, bench.homeId, 'a1', logPath, script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    children.push(daemon)
    let told = ''
    daemon.stdout.on('data', (chunk: Buffer) => {
      told += chunk.toString()
    })
    const line = await until('the daemon tells its engine', () => /^(.*)\n/.exec(told)?.[1])
    await until('the engine is up', () => readFileSync(logPath, 'utf8').split('\n').includes('up'))
    const end = (signal: NodeJS.Signals) => {
      const gone = new Promise((resolve) => daemon.once('exit', resolve))
      daemon.kill(signal)
      return gone
    }
    return { daemon, ref: JSON.parse(line) as { pid: number; start_ticks: number }, end }
  }

  it('the engine goes on, is found, and is ended', async () => {
    const { ref, end } = await startDaemon('echo up; while :; do echo line; sleep 0.02; done')
    await end('SIGKILL')
    expect(isAlive(ref.pid, ref.start_ticks)).toBe(true)
    const found = await bench.runtime.findSurvivors([])
    expect(found).toMatchObject([{ slot: 'agent', attemptId: 'a1', process: { ref } }])
    expect((await bench.runtime.findSurvivors([]))[0]?.process).toBe(found[0]?.process)
    expect(await found[0]?.process.stop({ graceMs: LONG_MS })).toBe('terminated')
    expect(await found[0]?.process.exited).toMatchObject({ kind: 'unknown' })
    expect(isAlive(ref.pid, ref.start_ticks)).toBe(false)
  })

  it('an engine whose wrapper was killed as well is found and ended', async () => {
    const { ref, end } = await startDaemon('sh -c "echo up; sleep 600; true"; true')
    await end('SIGKILL')
    killQuietly(ref.pid)
    await until('the wrapper is dead', () => statLineOf(ref.pid) === undefined)
    const [survivor, ...more] = await bench.runtime.findSurvivors([])
    expect(more).toEqual([])
    expect(survivor).toMatchObject({ slot: 'agent', attemptId: 'a1' })
    expect(survivor?.process.ref.pid).not.toBe(ref.pid)
    expect(await survivor?.process.stop({ graceMs: LONG_MS })).toBe('terminated')
    expect(pidsOf(bench.homeId)).toEqual([])
  })

  it('an engine that dies as a zombie of a parent that never collects does not hang the stop', async () => {
    const { daemon, ref } = await startDaemon('echo up; exec sleep 600')
    daemon.kill('SIGSTOP')
    await until('the parent stands still', () => statLineOf(daemon.pid ?? 0)?.includes(') T '))
    const [survivor] = await bench.runtime.findSurvivors([])
    expect(await survivor?.process.stop({ graceMs: LONG_MS })).toBe('terminated')
    expect(readProcStat(ref.pid)?.state).toBe('Z')
  })

  it('engines of other homes are left alone', async () => {
    await startDaemon('echo up; exec sleep 600')
    const other = new ProcessBench()
    try {
      expect(await other.runtime.findSurvivors([])).toEqual([])
    } finally {
      await other.close()
    }
  })
})
