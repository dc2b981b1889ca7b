import { z } from 'zod'
import { parseJson } from '../../kernel/read-json.ts'
import { parseCount } from './parse-count.ts'
import { normalizePciAddress } from './pci-address.ts'

/** Asks rocm-smi for the memory of every AMD card; `parseRocmMemory` reads the answer. */
export const ROCM_MEMORY_QUERY = ['--showmeminfo', 'vram', 'gtt', '--showbus', '--json'] as const

/** What a driver says about the memory of an AMD card, in bytes; undefined = it does not say. */
export interface AmdMemory {
  readonly vramTotalBytes: number | undefined
  readonly vramUsedBytes: number | undefined
  readonly gttTotalBytes: number | undefined
  readonly gttUsedBytes: number | undefined
}

export interface RocmCard extends AmdMemory {
  readonly pciAddress: string | undefined
}

const answerSchema = z.record(z.string(), z.unknown())
const cardSchema = z.record(z.string(), z.union([z.string(), z.number()]))

/** The cards in the answer to `ROCM_MEMORY_QUERY`; undefined = it is no JSON. Warnings before the JSON are skipped. */
export function parseRocmMemory(stdout: string): readonly RocmCard[] | undefined {
  const answer = answerSchema.safeParse(parseJson(stdout.slice(Math.max(0, stdout.indexOf('{')))))
  if (!answer.success) return undefined
  return Object.entries(answer.data).flatMap(([key, value]) => {
    const card = cardSchema.safeParse(value)
    if (!/^card\d+$/.test(key) || !card.success) return []
    const count = (name: string) => parseCount(String(card.data[name] ?? ''))
    return [
      {
        pciAddress: normalizePciAddress(String(card.data['PCI Bus'] ?? '')),
        vramTotalBytes: count('VRAM Total Memory (B)'),
        vramUsedBytes: count('VRAM Total Used Memory (B)'),
        gttTotalBytes: count('GTT Total Memory (B)'),
        gttUsedBytes: count('GTT Total Used Memory (B)'),
      },
    ]
  })
}
