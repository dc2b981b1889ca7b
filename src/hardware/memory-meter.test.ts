import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { unpackMachine } from '../../test/fixtures/hardware/recorded-machine.ts'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { createHardwareSources } from './hardware-sources.ts'
import { createMemoryMeter } from './memory-meter.ts'
import type { CommandResult } from './run-command.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-meter-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const RX_7900 = 'sys/devices/pci0000:00/0000:00:01.1/0000:01:00.0/0000:02:00.0/0000:03:00.0'

let count = 0
/** Two NVIDIA cards; nvidia-smi tells as many MiB free on the first card as it was called times, when the test lets it. */
async function harness() {
  const { root, write } = await unpackMachine('two-nvidia', join(folder, String(count++)))
  const clock = new ManualClock()
  const waiting: ((result: CommandResult) => void)[] = []
  let isHeld = false
  let calls = 0
  const run = (): Promise<CommandResult> => {
    const stdout = `0, 00000000:41:00.0, NVIDIA GeForce RTX 4090, 24564, ${++calls}, 0, 38\n`
    const result: CommandResult = { kind: 'ok', stdout, output: stdout }
    return isHeld ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(result)
  }
  const meter = createMemoryMeter(createHardwareSources({ root, run }, clock))
  const freeMib = async () => {
    const free = (await meter.read()).find((pool) => pool.id === 'gpu0')?.freeBytes
    return free === undefined ? undefined : free / 1024 / 1024
  }
  return {
    clock,
    write,
    meter,
    freeMib,
    calls: () => calls,
    hold: (held: boolean) => {
      isHeld = held
    },
    fail: (reason: string) => waiting.shift()?.({ kind: 'failed', reason }),
  }
}

describe('createMemoryMeter', () => {
  it('many readers at once run nvidia-smi once; half a second later it is run again', async () => {
    const { freeMib, calls, clock } = await harness()
    expect(await Promise.all(Array.from({ length: 8 }, freeMib))).toEqual([1, 1, 1, 1, 1, 1, 1, 1])
    await clock.advance(500)
    expect(await freeMib()).toBe(1)
    await clock.advance(1)
    expect(await freeMib()).toBe(2)
    expect(calls()).toBe(2)
  })

  it('reads files at each call', async () => {
    const { meter, write } = await harness()
    await meter.read()
    await write('proc/meminfo', 'MemTotal: 2048 kB\nMemAvailable: 1024 kB\n')
    expect((await meter.read())[0]).toMatchObject({ totalBytes: 2_097_152, freeBytes: 1_048_576 })
  })

  it('a driver that hangs is asked by one process at a time, and then left alone for 10 s', async () => {
    const { freeMib, calls, hold, fail, clock } = await harness()
    hold(true)
    const first = freeMib()
    await clock.advance(600)
    const second = freeMib()
    await clock.advance(2_400)
    expect(calls()).toBe(1)
    fail('gave no answer within 3 s')
    expect([await first, await second]).toEqual([undefined, undefined])
    hold(false)
    await clock.advance(9_900)
    expect(await freeMib()).toBeUndefined()
    expect(calls()).toBe(1)
    await clock.advance(101)
    expect(await freeMib()).toBe(2)
  })

  it('who joins a running read does not get the older answer of nvidia-smi that it uses', async () => {
    const { root } = await unpackMachine('discrete-amd', join(folder, String(count++)))
    // Without this file rocm-smi is asked, which keeps the read running.
    await rm(join(root, RX_7900, 'mem_info_vram_total'))
    const clock = new ManualClock()
    let asked = 0
    let isHeld = false
    let goOn = () => {}
    let tellHeld = () => {}
    const held = new Promise<void>((resolve) => {
      tellHeld = resolve
    })
    const run = async (program: string): Promise<CommandResult> => {
      if (program === 'nvidia-smi') asked++
      else if (isHeld) {
        await new Promise<void>((resolve) => {
          goOn = resolve
          tellHeld()
        })
      }
      return { kind: 'failed', reason: 'none' }
    }
    const meter = createMemoryMeter(createHardwareSources({ root, run }, clock))
    await meter.read()
    await clock.advance(400)
    isHeld = true
    const first = meter.read()
    await held
    expect(asked).toBe(1)
    await clock.advance(101)
    const second = meter.read()
    isHeld = false
    goOn()
    await Promise.all([first, second])
    expect(asked).toBe(2)
  })

  it('a command that rejects is a problem like any other', async () => {
    const { root } = await unpackMachine('two-nvidia', join(folder, String(count++)))
    const run = () => Promise.reject(new Error('no more processes'))
    const look = await createHardwareSources({ root, run }, new ManualClock()).look()
    expect(look.problems).toEqual(['nvidia-smi: no more processes'])
  })
})
