import { describe, expect, it } from 'vitest'
import { GIB } from '../../kernel/units.ts'
import { type DrmCard, listGpus } from './list-gpus.ts'
import type { NvidiaCard } from './parse-nvidia-smi.ts'

const HOST = { machine: undefined, own: undefined }

function card(node: string, vendor: DrmCard['vendor'], pciAddress?: string, driver?: string): DrmCard {
  const memory = {
    vramTotalBytes: undefined,
    vramUsedBytes: undefined,
    gttTotalBytes: undefined,
    gttUsedBytes: undefined,
  }
  return {
    node,
    vendor,
    pciAddress,
    driver,
    name: undefined,
    memory,
    traits: { memoryMaker: undefined, metricsFormat: undefined },
  }
}

function row(
  name: string,
  pciAddress: string | undefined,
  memory: NvidiaCard['memory'] = { kind: 'unknown' },
): NvidiaCard {
  return { pciAddress, name, memory, busy: undefined, temperature: undefined }
}

/** `pool vendor index node name`. */
function list(cards: readonly DrmCard[], smi?: readonly NvidiaCard[]): readonly string[] {
  return listGpus(cards, smi, HOST).map((gpu) =>
    [gpu.pool, gpu.vendor, gpu.index, gpu.node ?? '-', gpu.name ?? '-'].join(' '),
  )
}

describe('listGpus', () => {
  it('counts per vendor by PCI address, whatever number the kernel gave', () => {
    const cards = [
      card('card0', 'Intel', '0000:00:02.0'),
      card('card1', 'NVIDIA', '0000:c1:00.0'),
      card('card2', 'AMD', '0000:0a:00.0'),
      card('card3', 'NVIDIA', '0000:41:00.0'),
      card('card4', 'AMD', '0000:03:00.0'),
    ]
    expect(list(cards)).toEqual([
      'gpu0 AMD 0 card4 -',
      'gpu1 AMD 1 card2 -',
      'gpu2 NVIDIA 0 card3 -',
      'gpu3 NVIDIA 1 card1 -',
      'gpu4 Intel 0 card0 -',
    ])
  })

  it('cards that the compute stack does not see come last', () => {
    const cards = [
      card('card0', 'AMD', '0000:03:00.0', 'radeon'),
      card('card1', 'AMD', '0000:04:00.0', 'amdgpu'),
      card('card2', 'NVIDIA', '0000:05:00.0', 'nouveau'),
      card('card3', 'NVIDIA', '0000:06:00.0', 'nvidia'),
    ]
    expect(list(cards)).toEqual([
      'gpu0 AMD 0 card1 -',
      'gpu1 AMD 1 card0 -',
      'gpu2 NVIDIA 0 card3 -',
      'gpu3 NVIDIA 1 card2 -',
    ])
  })

  it('a card that nvidia-smi does not list comes after those that it lists', () => {
    const cards = [card('card0', 'NVIDIA', '0000:41:00.0', 'nvidia'), card('card1', 'NVIDIA', '0000:c1:00.0', 'nvidia')]
    expect(list(cards, [row('B', '0000:c1:00.0')])).toEqual(['gpu0 NVIDIA 0 card1 B', 'gpu1 NVIDIA 1 card0 -'])
  })

  it('a card without a node in sysfs is listed too, and none twice', () => {
    const cards = [card('card0', 'NVIDIA', '0000:41:00.0')]
    expect(list(cards, [row('C', undefined), row('B', '0000:c1:00.0'), row('A', '0000:41:00.0')])).toEqual([
      'gpu0 NVIDIA 0 card0 A',
      'gpu1 NVIDIA 1 - B',
      'gpu2 NVIDIA 2 - C',
    ])
  })

  it('a card without an address takes the row that no other card has', () => {
    const cards = [card('card0', 'NVIDIA'), card('card1', 'NVIDIA', '0000:41:00.0')]
    expect(list(cards, [row('A', '0000:41:00.0'), row('B', '0000:c1:00.0')])).toEqual([
      'gpu0 NVIDIA 0 card1 A',
      'gpu1 NVIDIA 1 card0 B',
    ])
  })

  it('a card of another maker at the same place is no NVIDIA card', () => {
    expect(list([card('card0', 'AMD', '0000:41:00.0')], [row('A', '0000:41:00.0')])).toEqual([
      'gpu0 AMD 0 card0 -',
      'gpu1 NVIDIA 0 - A',
    ])
  })

  it('a chip without memory of its own has what hal0 may use of the host', () => {
    const host = {
      machine: { totalBytes: 128 * GIB, availableBytes: 100 * GIB },
      own: { totalBytes: 64 * GIB, availableBytes: 60 * GIB },
    }
    const [gpu] = listGpus([], [row('GB10', '000f:01:00.0', { kind: 'shared' })], host)
    expect(gpu).toMatchObject({ kind: 'unified', size: { totalBytes: 64 * GIB, freeBytes: 60 * GIB } })
  })
})
