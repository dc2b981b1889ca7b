import { describe, expect, it } from 'vitest'
import { GIB, KIB, MIB } from '../../kernel/units.ts'
import { parseCount, parsePercent, parseTemperature } from './parse-count.ts'
import { parseNvidiaCards, parseNvidiaProcesses } from './parse-nvidia-smi.ts'
import { parseCpuinfo, parseDrmFdinfo, parseMeminfo } from './parse-proc.ts'
import { parseRocmMemory } from './parse-rocm-smi.ts'
import { comparePciAddresses, normalizePciAddress, pciAddressIn } from './pci-address.ts'

describe('numbers', () => {
  it.each([
    ['0', 0],
    [' 42\n', 42],
    ['9007199254740991', 9_007_199_254_740_991],
    ['9007199254740992', undefined],
    ['9223372036854771712', undefined],
    ['-1', undefined],
    ['1e3', undefined],
    ['0x10', undefined],
    ['max', undefined],
    ['', undefined],
  ])('parseCount(%j) = %s', (text, expected) => {
    expect(parseCount(text)).toBe(expected)
  })

  it.each([
    ['0', 0],
    ['100', 100],
    ['101', undefined],
    ['[N/A]', undefined],
  ])('parsePercent(%j) = %s', (text, expected) => {
    expect(parsePercent(text)).toBe(expected)
  })

  it.each([
    ['41000', 1000, 41],
    ['41560', 1000, 41.6],
    ['-5000', 1000, -5],
    ['65535', 1, undefined],
    ['-274000', 1000, undefined],
    ['hot', 1, undefined],
  ])('parseTemperature(%j, %i) = %s', (text, perDegree, expected) => {
    expect(parseTemperature(text, perDegree)).toBe(expected)
  })
})

describe('PCI addresses', () => {
  it.each([
    ['00000000:C1:00.0', '0000:c1:00.0'],
    ['0000:03:00.1', '0000:03:00.1'],
    ['00010000:01:00.0', '10000:01:00.0'],
    ['c1:00.0', undefined],
    ['0000:zz:00.0', undefined],
  ])('%s → %s', (text, expected) => {
    expect(normalizePciAddress(text)).toBe(expected)
  })

  it('are ordered as numbers, those without one last', () => {
    const sorted = ['10000:01:00.0', undefined, '0000:c1:00.0', '0000:0a:00.0', '0000:0a:00.1', '0001:02:00.0']
    expect(sorted.toSorted((a, b) => comparePciAddresses(a ?? undefined, b ?? undefined))).toEqual([
      '0000:0a:00.0',
      '0000:0a:00.1',
      '0000:c1:00.0',
      '0001:02:00.0',
      '10000:01:00.0',
      undefined,
    ])
  })

  it('are found in the path of a device below them', () => {
    expect(pciAddressIn('/sys/devices/pci0000:00/0000:00:02.0/0000:03:00.0/virtio0')).toBe('0000:03:00.0')
    expect(pciAddressIn('/sys/devices/platform/vkms')).toBeUndefined()
  })
})

describe('parseNvidiaCards', () => {
  const line = (total: string, free: string, busy = '0') =>
    `0, 00000000:01:00.0, NVIDIA X, ${total}, ${free}, ${busy}, 38`
  it.each([
    ['numbers', line('24564', '23987'), { kind: 'own', totalBytes: 24_564 * MIB, freeBytes: 23_987 * MIB }],
    [
      'a MIG card says how much, not how busy',
      line('81920', '80000', '[N/A]'),
      { kind: 'own', totalBytes: 81_920 * MIB, freeBytes: 80_000 * MIB },
    ],
    ['no memory of its own', line('[N/A]', '[N/A]'), { kind: 'shared' }],
    ['the older word for it', line('[Not Supported]', '[Not Supported]'), { kind: 'shared' }],
    ['no rights', line('[Insufficient Permissions]', '[Insufficient Permissions]'), { kind: 'unknown' }],
    ['a lost card', line('[GPU is lost]', '[GPU is lost]'), { kind: 'unknown' }],
    ['only the total is missing', line('[N/A]', '100'), { kind: 'unknown' }],
    [
      'free is unknown',
      line('24564', '[Unknown Error]'),
      { kind: 'own', totalBytes: 24_564 * MIB, freeBytes: undefined },
    ],
    ['more free than there is', line('100', '101'), { kind: 'own', totalBytes: 100 * MIB, freeBytes: undefined }],
    ['negative', line('-5', '-5'), { kind: 'unknown' }],
    ['huge', line('9007199254740991', '1'), { kind: 'unknown' }],
    ['zero', line('0', '0'), { kind: 'unknown' }],
  ])('memory: %s', (_what, text, memory) => {
    expect(parseNvidiaCards(`${text}\n`)).toEqual({
      cards: [expect.objectContaining({ name: 'NVIDIA X', pciAddress: '0000:01:00.0', memory })],
      strange: [],
    })
  })

  it('keeps a comma in a name, and knows a name that is none', () => {
    const { cards } = parseNvidiaCards('0, 00000000:01:00.0, A, B, 1, 1, 0, 3\n1, [N/A], [Unknown Error], 1, 1, 0, 3\n')
    expect(cards.map((card) => [card.name, card.pciAddress])).toEqual([
      ['A, B', '0000:01:00.0'],
      [undefined, undefined],
    ])
  })

  it('gives back lines that are no card', () => {
    expect(parseNvidiaCards('WARNING: infoROM is corrupted at gpu 0000:01:00.0\nNo devices were found\n\n')).toEqual({
      cards: [],
      strange: ['WARNING: infoROM is corrupted at gpu 0000:01:00.0'],
    })
  })
})

describe('parseNvidiaProcesses', () => {
  it('takes what is a process', () => {
    const text = '00000000:C1:00.0, 31337, 23044\n00000000:C1:00.0, 5, [N/A]\nNo running processes found\n, , \n'
    expect(parseNvidiaProcesses(text)).toEqual([
      { pciAddress: '0000:c1:00.0', pid: 31_337, bytes: 23_044 * MIB },
      { pciAddress: '0000:c1:00.0', pid: 5, bytes: undefined },
    ])
  })
})

describe('parseRocmMemory', () => {
  it.each([
    ['not JSON', 'ERROR: no driver', undefined],
    ['nothing', '', undefined],
    ['no cards', '{"system": {"x": "y"}}', []],
    ['a card of another shape', '{"card0": 7}', []],
  ])('%s', (_what, text, expected) => {
    expect(parseRocmMemory(text)).toEqual(expected)
  })
})

describe('/proc', () => {
  it.each([
    ['MemTotal:       100 kB\nMemAvailable:   40 kB\n', { totalBytes: 100 * KIB, availableBytes: 40 * KIB }],
    ['MemTotal:       100 kB\nMemAvailable:   140 kB\n', { totalBytes: 100 * KIB, availableBytes: 100 * KIB }],
    ['MemTotal:       100 kB\n', undefined],
    ['MemTotal:       0 kB\nMemAvailable:   0 kB\n', undefined],
    ['MemTotal:       -100 kB\nMemAvailable:   40 kB\n', undefined],
    ['', undefined],
  ])('meminfo %j', (text, expected) => {
    expect(parseMeminfo(text)).toEqual(expected)
  })

  it('cpuinfo of x86 and of ARM', () => {
    expect(parseCpuinfo('processor\t: 0\nmodel name\t: X  Y \nprocessor\t: 1\n')).toEqual({ model: 'X  Y', cores: 2 })
    expect(parseCpuinfo('processor\t: 0\nCPU part\t: 0xd87\n')).toEqual({ model: undefined, cores: 1 })
    expect(parseCpuinfo('')).toEqual({ model: undefined, cores: 0 })
  })

  it('fdinfo of amdgpu, in the words of older and newer kernels; other drivers are none', () => {
    const head = 'drm-pdev:\t0000:c5:00.0\ndrm-client-id:\t17\n'
    const client = { pciAddress: '0000:c5:00.0', clientId: '17', vramBytes: MIB, gttBytes: GIB }
    expect(
      parseDrmFdinfo(`drm-driver:\tamdgpu\n${head}drm-memory-vram:\t1024 KiB\ndrm-memory-gtt: \t1048576 KiB\n`),
    ).toEqual(client)
    expect(
      parseDrmFdinfo(`drm-driver:\tamdgpu\n${head}drm-resident-vram:\t1024 KiB\ndrm-resident-gtt:\t1048576 KiB\n`),
    ).toEqual(client)
    expect(parseDrmFdinfo(`drm-driver:\ti915\n${head}drm-memory-vram:\t1024 KiB\n`)).toBeUndefined()
    expect(parseDrmFdinfo('pos:\t0\nflags:\t02\n')).toBeUndefined()
  })
})
