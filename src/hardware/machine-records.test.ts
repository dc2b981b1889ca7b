import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeUnreadable, type RecordedMachine, unpackMachine } from '../../test/fixtures/hardware/recorded-machine.ts'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { type Hardware, hardwareSchema } from '../contract/hardware.ts'
import { GIB, MIB } from '../kernel/units.ts'
import { listGpuProcesses } from './gpu-processes.ts'
import { createHardwareSources } from './hardware-sources.ts'
import { createMemoryMeter } from './memory-meter.ts'
import { readHardware } from './read-hardware.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-records-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

let count = 0
async function recorded(name: string): Promise<RecordedMachine> {
  return unpackMachine(name, join(folder, String(count++)))
}

function sourcesOf(machine: Pick<RecordedMachine, 'root' | 'run'>) {
  return createHardwareSources(machine, new ManualClock())
}

async function hardwareOf(machine: Pick<RecordedMachine, 'root' | 'run'>): Promise<Hardware> {
  return hardwareSchema.parse(await readHardware(sourcesOf(machine)))
}

const CARD = 'sys/devices/pci0000:00/0000:00:08.1/0000:c5:00.0'
const HOST = { kind: 'host', vendor: undefined, gpuIndex: undefined } as const

describe('recorded machines', () => {
  it('an APU: carve-out and share are one pool, the sensors and the NPU are read', async () => {
    const machine = await recorded('strix-halo')
    expect(await hardwareOf(machine)).toEqual({
      cpu: { model: 'AMD RYZEN AI MAX+ 395 w/ Radeon 8060S', cores: 32 },
      pools: [
        { id: 'host', kind: 'host', total_bytes: 125 * 1024 * 1_048_576, free_bytes: 98_304_000 * 1024 },
        {
          id: 'gpu0',
          kind: 'unified',
          total_bytes: 120 * GIB + 512 * MIB,
          // 357 MiB of the carve-out, and what main memory has left: less than the 100 GiB that the share has.
          free_bytes: 357 * MIB + 98_304_000 * 1024,
        },
      ],
      gpus: [
        {
          index: 0,
          vendor: 'AMD',
          name: 'Radeon 8060S',
          pci_address: '0000:c5:00.0',
          pool: 'gpu0',
          gtt_total_bytes: 120 * GIB,
          busy: 4,
          temperature: 41,
        },
      ],
      npu: { name: 'RyzenAI-npu5', device: '/dev/accel/accel0' },
      problems: [],
    })
    expect(machine.calls.filter((call) => call.startsWith('rocm-smi'))).toEqual([])
  })

  it('an APU of which the share is nearly full: main memory that is free does not help', async () => {
    const machine = await recorded('strix-halo')
    await machine.write(`${CARD}/mem_info_gtt_used`, String(119 * GIB))
    const [, gpu] = await createMemoryMeter(sourcesOf(machine)).read()
    expect(gpu?.freeBytes).toBe(357 * MIB + GIB)
  })

  it('two NVIDIA cards around the display of the board: counted without it', async () => {
    const machine = await recorded('two-nvidia')
    expect(await createMemoryMeter(sourcesOf(machine)).read()).toEqual([
      { id: 'host', ...HOST, totalBytes: 263_933_952 * 1024, freeBytes: 241_172_480 * 1024 },
      { id: 'gpu0', kind: 'vram', vendor: 'NVIDIA', gpuIndex: 0, totalBytes: 24_564 * MIB, freeBytes: 23_987 * MIB },
      { id: 'gpu1', kind: 'vram', vendor: 'NVIDIA', gpuIndex: 1, totalBytes: 24_576 * MIB, freeBytes: 1210 * MIB },
      { id: 'gpu2', kind: 'vram', vendor: 'unknown maker', gpuIndex: 0, totalBytes: undefined, freeBytes: undefined },
    ])
    expect((await hardwareOf(machine)).gpus.map(({ name, busy, temperature }) => [name, busy, temperature])).toEqual([
      ['NVIDIA GeForce RTX 4090', 0, 38],
      ['NVIDIA GeForce RTX 3090', 97, 71],
      [null, null, null],
    ])
  })

  it('a card of its own beside a small APU: the share of the card does not count, that of the APU does', async () => {
    const machine = await recorded('discrete-amd')
    const { gpus, pools } = await hardwareOf(machine)
    expect(gpus.map(({ name, pool }) => [name, pool])).toEqual([
      ['AMD Radeon RX 7900 XTX', 'gpu0'],
      ['AMD Radeon Graphics', 'gpu1'],
    ])
    expect(pools.slice(1)).toEqual([
      { id: 'gpu0', kind: 'vram', total_bytes: 25_753_026_560, free_bytes: 24_494_735_360 },
      { id: 'gpu1', kind: 'unified', total_bytes: 33_934_303_232, free_bytes: 33_890_377_728 },
    ])
  })

  it('GB10: the GPU has what the host has', async () => {
    const [host, gpu] = await createMemoryMeter(sourcesOf(await recorded('gb10'))).read()
    expect(gpu).toEqual({ ...host, id: 'gpu0', kind: 'unified', vendor: 'NVIDIA', gpuIndex: 0 })
    expect(gpu?.freeBytes).toBe(117_440_512 * 1024)
  })

  it('a virtual machine: its display is a GPU without memory, nothing is wrong', async () => {
    const { gpus, pools, npu, problems } = await hardwareOf(await recorded('virtual'))
    expect(gpus).toHaveLength(1)
    expect(pools[1]).toEqual({ id: 'gpu0', kind: 'vram', total_bytes: null, free_bytes: null })
    expect([npu, problems]).toEqual([null, []])
  })

  it('nothing at all: one line for what is missing, no rejection', async () => {
    const hardware = await hardwareOf({ root: join(folder, 'nowhere'), run: async () => ({ kind: 'missing' }) })
    expect(hardware).toMatchObject({ pools: [{ id: 'host', total_bytes: null, free_bytes: null }], gpus: [] })
    expect(hardware.problems).toEqual([`${join(folder, 'nowhere')}/proc/meminfo cannot be read`])
    expect(hardware.cpu.cores).toBeGreaterThan(0)
  })
})

describe('broken machines', () => {
  it.each([
    ['a negative number', '-1'],
    ['words', 'n/a'],
    ['nothing', ''],
    ['a counter below zero', '18446744073709551615'],
    ['a fraction', '1.5'],
    ['hex', '0x1000'],
  ])('%s where used memory belongs: what is free is unknown, the total stays', async (_what, text) => {
    const machine = await recorded('strix-halo')
    await machine.write(`${CARD}/mem_info_gtt_used`, `${text}\n`)
    const { pools, problems } = await hardwareOf(machine)
    expect(pools[1]).toMatchObject({ kind: 'unified', total_bytes: 120 * GIB + 512 * MIB, free_bytes: null })
    expect(problems).toEqual([expect.stringContaining('mem_info_gtt_used says')])
  })

  it('more used than there is: unknown, and said', async () => {
    const machine = await recorded('strix-halo')
    await machine.write(`${CARD}/mem_info_vram_used`, String(600 * MIB))
    const { pools, problems } = await hardwareOf(machine)
    expect(pools[1]?.free_bytes).toBeNull()
    expect(problems).toEqual([expect.stringContaining('mem_info_vram_used says more than there is')])
  })

  it('files that cannot be read are named, and all else is still told', async () => {
    const machine = await recorded('two-nvidia')
    await makeUnreadable(machine.root, 'proc/meminfo')
    await makeUnreadable(machine.root, 'proc/cpuinfo')
    const { gpus, pools, cpu, problems } = await hardwareOf(machine)
    expect([gpus.length, cpu.model, pools[0]?.free_bytes]).toEqual([3, null, null])
    expect(pools[1]?.free_bytes).toBe(23_987 * MIB)
    expect(problems).toEqual([
      `${machine.root}/proc/meminfo cannot be read`,
      `${machine.root}/proc/cpuinfo cannot be read (EISDIR)`,
    ])
  })

  it.each([
    [
      'fails',
      { kind: 'failed', reason: 'Driver/library version mismatch' },
      'nvidia-smi: Driver/library version mismatch',
    ],
    ['finds no cards', { kind: 'failed', reason: 'No devices were found' }, 'nvidia-smi: No devices were found'],
    ['is gone', { kind: 'missing' }, 'nvidia-smi is not on PATH: names and memory of NVIDIA cards are not known'],
    ['is empty', { kind: 'ok', stdout: '', output: '' }, 'nvidia-smi lists no card'],
    [
      'talks of something else',
      { kind: 'ok', stdout: 'Unable to determine the device handle\n', output: '' },
      'nvidia-smi says "Unable to determine the device handle"',
    ],
  ] as const)('nvidia-smi that %s: the cards are listed with unknown memory', async (_what, answer, line) => {
    const { root } = await recorded('two-nvidia')
    const { gpus, pools, problems } = await hardwareOf({ root, run: async () => answer })
    expect(gpus.map((gpu) => [gpu.vendor, gpu.index, gpu.pci_address])).toEqual([
      ['NVIDIA', 0, '0000:41:00.0'],
      ['NVIDIA', 1, '0000:c1:00.0'],
      ['unknown maker', 0, '0000:64:00.0'],
    ])
    expect(pools.slice(1).every((pool) => pool.total_bytes === null && pool.free_bytes === null)).toBe(true)
    expect(problems).toContain(line)
  })

  it('"No devices" on a machine without NVIDIA cards is no problem', async () => {
    const { root } = await recorded('strix-halo')
    const run = async () => ({ kind: 'failed', reason: 'No devices were found' }) as const
    expect((await hardwareOf({ root, run })).problems).toEqual([])
  })

  it('nvidia-smi answered once and fails now: every card keeps its number and its total', async () => {
    const machine = await recorded('two-nvidia')
    await rm(join(machine.root, 'sys/class/drm'), { recursive: true })
    const clock = new ManualClock()
    let isBroken = false
    const meter = createMemoryMeter(
      createHardwareSources(
        {
          root: machine.root,
          run: async (program, args) =>
            isBroken ? { kind: 'failed', reason: 'GPU is lost' } : machine.run(program, args),
        },
        clock,
      ),
    )
    const before = await meter.read()
    isBroken = true
    await clock.advance(501)
    expect((await meter.read()).slice(1)).toEqual(before.slice(1).map((pool) => ({ ...pool, freeBytes: undefined })))
    isBroken = false
    await clock.advance(501)
    expect(await meter.read()).toEqual(before)
  })

  it('asks rocm-smi when sysfs does not tell the memory of an AMD card', async () => {
    const machine = await recorded('discrete-amd')
    const device = 'sys/devices/pci0000:00/0000:00:01.1/0000:01:00.0/0000:02:00.0/0000:03:00.0'
    await rm(join(machine.root, device, 'mem_info_vram_total'))
    const card = (bus: string, total: number, used: number) => ({
      'PCI Bus': bus,
      'VRAM Total Memory (B)': String(total),
      'VRAM Total Used Memory (B)': String(used),
    })
    const stdout = `WARNING: AMD GPU device(s) is/are in a low-power state.\n${JSON.stringify({
      card0: card('0000:0D:00.0', 1, 1),
      card1: card('0000:03:00.0', 16 * GIB, 2 * GIB),
    })}`
    const pools = await createMemoryMeter(
      sourcesOf({
        root: machine.root,
        run: async (program) => (program === 'rocm-smi' ? { kind: 'ok', stdout, output: stdout } : { kind: 'missing' }),
      }),
    ).read()
    expect(pools[1]).toMatchObject({ kind: 'vram', totalBytes: 16 * GIB, freeBytes: 14 * GIB })
  })
})

describe('listGpuProcesses', () => {
  it('NVIDIA: by pool, the largest first, without a size where none is told', async () => {
    expect(await listGpuProcesses(sourcesOf(await recorded('two-nvidia')))).toEqual([
      { pid: 31_337, program: 'python3', pool: 'gpu1', bytes: 23_044 * MIB },
      { pid: 4001, program: 'unknown program', pool: 'gpu0', bytes: undefined },
    ])
  })

  it('amdgpu: a client with two open files counts once; no arguments in the name', async () => {
    expect(await listGpuProcesses(sourcesOf(await recorded('strix-halo')))).toEqual([
      { pid: 4242, program: 'llama-server', pool: 'gpu0', bytes: 50 * MIB + 20 * GIB },
      { pid: 77, program: 'Xwayland', pool: 'gpu0', bytes: 3 * MIB },
    ])
  })
})
