import { MIB } from '../../kernel/units.ts'
import { parseCount, parsePercent, parseTemperature } from './parse-count.ts'
import { normalizePciAddress } from './pci-address.ts'

/** Asks nvidia-smi about its cards; `parseNvidiaCards` reads the answer. */
export const NVIDIA_CARDS_QUERY = [
  '--query-gpu=index,pci.bus_id,name,memory.total,memory.free,utilization.gpu,temperature.gpu',
  '--format=csv,noheader,nounits',
] as const

/** Asks which processes compute; `parseNvidiaProcesses` reads the answer. */
export const NVIDIA_PROCESSES_QUERY = [
  '--query-compute-apps=gpu_bus_id,pid,used_gpu_memory',
  '--format=csv,noheader,nounits',
] as const

/** `shared`: the chip has no memory of its own (GB10, Tegra). `unknown`: the driver does not tell (rights, a lost card). */
export type NvidiaMemory =
  | { readonly kind: 'own'; readonly totalBytes: number; readonly freeBytes: number | undefined }
  | { readonly kind: 'shared' }
  | { readonly kind: 'unknown' }

/** One card as nvidia-smi lists it. */
export interface NvidiaCard {
  readonly pciAddress: string | undefined
  readonly name: string | undefined
  readonly memory: NvidiaMemory
  /** Percent; a card cut by MIG does not say. */
  readonly busy: number | undefined
  /** °C. */
  readonly temperature: number | undefined
}

export interface NvidiaAnswer {
  /** In its own order. */
  readonly cards: readonly NvidiaCard[]
  /** Lines that are no card, as they were printed: warnings, errors. */
  readonly strange: readonly string[]
}

/** The words for "there is no such thing on this chip". Others in brackets ([Unknown Error], [Insufficient Permissions]) mean "I do not know". */
const NOT_APPLICABLE = /^\[?(N\/A|Not Supported)\]?$/i
const NO_CARDS = /^No devices were found/i
/** Before and after the name, which may hold commas itself. */
const COLUMNS = { before: 2, after: 4 } as const

/** The cards in the answer to `NVIDIA_CARDS_QUERY`; never throws. */
export function parseNvidiaCards(stdout: string): NvidiaAnswer {
  const cards: NvidiaCard[] = []
  const strange: string[] = []
  for (const line of linesOf(stdout)) {
    if (NO_CARDS.test(line)) continue
    const card = parseCard(line)
    if (card === undefined) strange.push(line)
    else cards.push(card)
  }
  return { cards, strange }
}

/** Does this failure only say that there is no NVIDIA card? */
export function saysNoNvidiaCards(reason: string): boolean {
  return NO_CARDS.test(reason)
}

function parseCard(line: string): NvidiaCard | undefined {
  const columns = line.split(',').map((column) => column.trim())
  if (columns.length <= COLUMNS.before + COLUMNS.after || parseCount(columns[0] ?? '') === undefined) return undefined
  const [total = '', free = '', busy = '', temperature = ''] = columns.slice(-COLUMNS.after)
  const name = columns.slice(COLUMNS.before, -COLUMNS.after).join(', ')
  return {
    pciAddress: normalizePciAddress(columns[1] ?? ''),
    name: name === '' || name.startsWith('[') ? undefined : name,
    memory: memoryOf(total, free),
    busy: parsePercent(busy),
    temperature: parseTemperature(temperature, 1),
  }
}

function memoryOf(total: string, free: string): NvidiaMemory {
  if (NOT_APPLICABLE.test(total) && NOT_APPLICABLE.test(free)) return { kind: 'shared' }
  const totalBytes = mebibytes(total)
  if (totalBytes === undefined || totalBytes === 0) return { kind: 'unknown' }
  const freeBytes = mebibytes(free)
  return {
    kind: 'own',
    totalBytes,
    freeBytes: freeBytes !== undefined && freeBytes <= totalBytes ? freeBytes : undefined,
  }
}

function mebibytes(text: string): number | undefined {
  const bytes = (parseCount(text) ?? Number.NaN) * MIB
  return Number.isSafeInteger(bytes) ? bytes : undefined
}

/** A process that holds memory of a card, named by its PCI address. */
export interface CardProcess {
  readonly pid: number
  readonly pciAddress: string
  /** Undefined = it is not told. */
  readonly bytes: number | undefined
}

/** The processes in the answer to `NVIDIA_PROCESSES_QUERY`; lines that are none are left out. */
export function parseNvidiaProcesses(stdout: string): readonly CardProcess[] {
  return linesOf(stdout).flatMap((line) => {
    const [address = '', pidText = '', memory = ''] = line.split(',').map((column) => column.trim())
    const pciAddress = normalizePciAddress(address)
    const pid = parseCount(pidText)
    return pciAddress === undefined || pid === undefined || pid === 0
      ? []
      : [{ pid, pciAddress, bytes: mebibytes(memory) }]
  })
}

function linesOf(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}
