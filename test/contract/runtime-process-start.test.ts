import { chmodSync, mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { LaunchPlan } from '../../src/contract/launch-plan.ts'
import { silentLog } from '../../src/kernel/log.ts'
import { MINUTE_MS } from '../../src/kernel/units.ts'
import { readLogTail } from '../../src/runtimes/process/log-file.ts'
import { readProcStat } from '../../src/runtimes/process/proc.ts'
import { createProcessRuntime } from '../../src/runtimes/process/process-runtime.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { ProcessBench, shellPlan, until } from './runtime-process-harness.ts'

let bench: ProcessBench
beforeEach(() => {
  bench = new ProcessBench()
})
afterEach(() => bench.close())

/** What a file descriptor of a process refers to; undefined = it is not open. */
function targetOf(pid: number, fd: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/fd/${fd}`)
  } catch {
    return undefined
  }
}

describe('a start that fails names program and reason', () => {
  const rows: { what: string; reason: RegExp; plan: (folder: string) => Partial<LaunchPlan> }[] = [
    { what: 'no such file', reason: /no such file/, plan: (folder) => ({ command: [join(folder, 'absent')] }) },
    { what: 'not on PATH', reason: /no such program on PATH/, plan: () => ({ command: ['hal0-no-such-engine'] }) },
    { what: 'a folder', reason: /is a folder/, plan: (folder) => ({ command: [folder] }) },
    {
      what: 'not executable',
      reason: /not executable \(chmod \+x /,
      plan: (folder) => {
        writeFileSync(join(folder, 'engine'), '#!/bin/sh\n')
        return { command: [join(folder, 'engine')] }
      },
    },
    {
      what: 'a file on the way',
      reason: /is a file, not a folder/,
      plan: (folder) => {
        writeFileSync(join(folder, 'file'), '')
        return { command: [join(folder, 'file/engine')] }
      },
    },
    {
      what: 'interpreter missing',
      reason: /its interpreter \/no\/such\/python, named in its first line, does not exist/,
      plan: (folder) => {
        writeFileSync(join(folder, 'engine'), '#!/no/such/python -u\n')
        chmodSync(join(folder, 'engine'), 0o755)
        return { command: [join(folder, 'engine')] }
      },
    },
    {
      what: 'arguments too long',
      reason: /longer than the system allows/,
      plan: () => ({ command: ['sh', '-c', 'true', 'x'.repeat(4 * 1024 * 1024)] }),
    },
    { what: 'NUL in an argument', reason: /null bytes/, plan: () => ({ command: ['sh', '-c', 'true\0'] }) },
  ]
  it.each(rows)('$what', async ({ plan, reason }) => {
    const changed = { ...shellPlan('true'), flags: [], ...plan(bench.folder) }
    const options = { attemptId: 'a1', secretEnv: { KEY: 'se-cret' }, logPath: bench.newLogPath() }
    const error = await bench.runtime.start(changed, options).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'slot.spawn_failed', details: { program: changed.command[0] } })
    expect(String(error)).toContain(`slot agent: cannot start ${changed.command[0]}: `)
    expect(String(error)).toMatch(reason)
    expect(String(error)).not.toContain('se-cret')
  })

  it('a log that cannot be written', async () => {
    const logPath = bench.newLogPath()
    mkdirSync(logPath, { recursive: true })
    const options = { attemptId: 'a1', secretEnv: {}, logPath }
    const error = await bench.runtime.start(shellPlan('true'), options).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'slot.spawn_failed' })
    expect(String(error)).toContain(`its log ${logPath} cannot be opened`)
  })

  it('does not leave file descriptors open', async () => {
    const logPath = bench.newLogPath()
    const options = { attemptId: 'a1', secretEnv: {}, logPath }
    await bench.runtime.start({ ...shellPlan(''), command: ['/absent'] }, options).catch(() => {})
    const engine = await bench.runtime.start(shellPlan('exec sleep 600'), options)
    const open = readdirSync('/proc/self/fd').map((fd) => targetOf(process.pid, fd))
    expect(open.length).toBeGreaterThan(3)
    expect(open).not.toContain(logPath)
    expect(targetOf(engine.ref.pid, '1')).toBe(logPath)
  })
})

describe('a started engine', () => {
  it('leads its own session and group, stands in /, and has nothing open but /dev/null and its log', async () => {
    const { engine, log, logPath } = await bench.start('ls -l /proc/$$/fd; pwd; echo up; exec sleep 600')
    const stat = readProcStat(engine.ref.pid)
    expect(stat).toMatchObject({
      groupId: engine.ref.pid,
      sessionId: engine.ref.pid,
      startTicks: engine.ref.start_ticks,
    })
    const open = [...log().matchAll(/ (\d+) -> (.*)$/gm)]
      // What whoever started this test run had left open without close-on-exec: node hands it on, and cannot do otherwise.
      .filter(([, fd = '', target = '']) => Number(fd) <= 2 || targetOf(process.ppid, fd) !== target)
      .map(([, fd, target]) => `${fd} ${target}`)
    expect(open).toEqual(['0 /dev/null', `1 ${logPath}`, `2 ${logPath}`])
    expect(log().split('\n')).toContain('/')
    expect(statSync(logPath).mode & 0o777).toBe(0o600)
  })

  it('gets its plan, its secrets and its cookie, and little of the daemon', async () => {
    const env = {
      ...process.env,
      NODE_OPTIONS: '--x',
      LLAMA_ARG_PORT: '1',
      OPENAI_API_KEY: 'k',
      CUDA_VISIBLE_DEVICES: '3',
    }
    const runtime = bench.newRuntime({ env })
    const logPath = bench.newLogPath()
    const plan = { ...shellPlan('env; echo up; exec sleep 600'), env: { FROM_PLAN: 'p' } }
    const engine = await runtime.start(plan, { attemptId: 'a1', secretEnv: { LLAMA_API_KEY: 'se-cret' }, logPath })
    const lines = await until('it has told its environment', () => {
      const all = readFileSync(logPath, 'utf8').split('\n')
      return all.includes('up') ? all : undefined
    })
    expect(lines).toEqual(
      expect.arrayContaining([
        'FROM_PLAN=p',
        'LLAMA_API_KEY=se-cret',
        'CUDA_VISIBLE_DEVICES=3',
        `HAL0_ENGINE=${bench.homeId}:agent:a1`,
        `PATH=${process.env['PATH']}`,
      ]),
    )
    expect(lines.filter((line) => /^(NODE_OPTIONS|LLAMA_ARG_|OPENAI_)/.test(line))).toEqual([])
    expect(readFileSync(`/proc/${engine.ref.pid}/cmdline`, 'utf8')).not.toContain('se-cret')
  })

  // The exit used to be lost when it came before the log was closed on our side.
  it('tells its exit also when it ends at once', async () => {
    const plan: LaunchPlan = { ...shellPlan(''), command: ['false'], flags: [] }
    for (let n = 0; n < 40; n += 1) {
      const engine = await bench.runtime.start(plan, { attemptId: `a${n}`, secretEnv: {}, logPath: bench.newLogPath() })
      expect(await engine.exited).toMatchObject({ kind: 'code', code: 1 })
    }
  })

  it('appends to its log; the tail of one attempt does not show the words of another', async () => {
    const logPath = bench.newLogPath()
    for (const attemptId of ['a1', 'a2']) {
      const options = { attemptId, secretEnv: {}, logPath }
      const engine = await bench.runtime.start(shellPlan(`printf "words of ${attemptId}"`), options)
      await engine.exited
    }
    expect(await readLogTail(logPath, 10_000, { attemptId: 'a1' })).toContain('words of a1')
    expect(await readLogTail(logPath, 10_000, { attemptId: 'a2' })).toEqual(['words of a2'])
  })
})

describe('log rotation', () => {
  it('cuts the log of a running engine within a minute, and its timer ends with it', async () => {
    const clock = new ManualClock()
    const logLimits = { maxBytes: 1_000, keepBytes: 100 }
    const runtime = createProcessRuntime({ homeId: bench.homeId, clock, log: silentLog, logLimits })
    const logPath = bench.newLogPath()
    const script = 'i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo line $i; done; echo up; exec sleep 600'
    const engine = await runtime.start(shellPlan(script), { attemptId: 'a1', secretEnv: {}, logPath })
    await until('it is up', () => readFileSync(logPath, 'utf8').includes('up'))
    await clock.advance(MINUTE_MS)
    await until('the log is cut', () => statSync(logPath).size === 0)
    expect(readFileSync(`${logPath}.1`, 'utf8')).toMatch(/^line \d+\n[^]*line 200\nup\n$/)
    process.kill(engine.ref.pid, 'SIGKILL')
    await engine.exited
    await until('no timer is left', () => clock.pendingTimers === 0)
  })

  it('stays bounded in a crash loop', async () => {
    const logLimits = { maxBytes: 1_000, keepBytes: 500 }
    const runtime = bench.newRuntime({ logLimits })
    const logPath = bench.newLogPath()
    for (let n = 0; n < 12; n += 1) {
      const options = { attemptId: `a${n}`, secretEnv: {}, logPath }
      const engine = await runtime.start(shellPlan('printf "%0300d\\n" 7'), options)
      await engine.exited
    }
    expect(statSync(logPath).size).toBeLessThan(1_000 + 500)
    expect(statSync(`${logPath}.1`).size).toBeLessThanOrEqual(500)
  })
})
