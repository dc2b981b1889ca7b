import type { Clock } from '../kernel/clock.ts'
import { messageOf } from '../kernel/errors.ts'
import { SECOND_MS } from '../kernel/units.ts'
import type { Machine } from './finding.ts'
import { createFreshAnswers, type Look } from './fresh-answers.ts'
import { readGpus } from './gpus.ts'
import { readHostFigures } from './memory.ts'
import type { ReportProblem } from './read-fact.ts'
import { type DrmCard, type Gpu, type HostFigures, listGpus } from './rules/list-gpus.ts'
import { NVIDIA_CARDS_QUERY, type NvidiaCard, parseNvidiaCards, saysNoNvidiaCards } from './rules/parse-nvidia-smi.ts'
import { parseRocmMemory, ROCM_MEMORY_QUERY } from './rules/parse-rocm-smi.ts'
import type { CommandResult } from './run-command.ts'

/** Nobody is given figures that were looked at longer than so before he asked. */
const MAX_AGE_MS = 500
/** A tool that failed after so long hangs on its driver … */
const HANGS_AFTER_MS = 2 * SECOND_MS
/** … and is left alone for so long: each try may leave a process that nothing can end. */
const HANG_REST_MS = 10 * SECOND_MS

/** Memory and GPUs of one moment. */
export interface MachineLook {
  readonly host: HostFigures
  /** By vendor, then in PCI order. */
  readonly gpus: readonly Gpu[]
  /** What could not be read, and why. */
  readonly problems: readonly string[]
}

/** Where figures of the machine come from. One per process: it shares what costs a command. */
export interface HardwareSources {
  readonly machine: Pick<Machine, 'root' | 'run'>
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** Never rejects. Not older than `MAX_AGE_MS` before the call. */
  look(): Promise<MachineLook>
}

/** `machine`: normally `thisMachine()`. Reads nothing yet. Source: SPEC 7 "Free memory". */
export function createHardwareSources(
  machine: Pick<Machine, 'root' | 'run'>,
  clock: Pick<Clock, 'monotonicMs'>,
): HardwareSources {
  let lastCards: readonly NvidiaCard[] | undefined
  const tool = (program: string, args: readonly string[], reusesEnded: boolean) =>
    createFreshAnswers<CommandResult>({
      clock,
      look: () => ({ sinceMs: clock.monotonicMs(), answer: machine.run(program, args).catch(failed) }),
      maxAgeMs: MAX_AGE_MS,
      reusesEnded,
      restMs: (answer, tookMs) => (answer.kind === 'failed' && tookMs >= HANGS_AFTER_MS ? HANG_REST_MS : 0),
    })
  const nvidiaSmi = tool('nvidia-smi', NVIDIA_CARDS_QUERY, true)
  // Asked in the midst of a look, whose age does not count what it reuses.
  const rocmSmi = tool('rocm-smi', ROCM_MEMORY_QUERY, false)

  async function lookNow(smi: Promise<CommandResult>): Promise<MachineLook> {
    const problems: string[] = []
    const problem: ReportProblem = (line) => void problems.push(line)
    const [host, listed, answer] = await Promise.all([
      readHostFigures(machine.root, problem),
      readGpus(machine.root, problem),
      smi,
    ])
    const cards = await withRocmMemory(listed, () => rocmSmi().answer, problem)
    const rows = nvidiaCards(answer, hasNvidia(cards) || lastCards !== undefined, problem)
    lastCards = rows ?? lastCards?.map(withoutFree)
    return { host, gpus: listGpus(cards, lastCards, host), problems: [...new Set(problems)] }
  }

  const shared = createFreshAnswers<MachineLook>({
    clock,
    look: (): Look<MachineLook> => {
      const smi = nvidiaSmi()
      return { sinceMs: Math.min(clock.monotonicMs(), smi.sinceMs), answer: lookNow(smi.answer) }
    },
    maxAgeMs: MAX_AGE_MS,
    // Files cost nothing: they are read at each call.
    reusesEnded: false,
  })
  return { machine, clock, look: () => shared().answer }
}

function failed(cause: unknown): CommandResult {
  return { kind: 'failed', reason: messageOf(cause) }
}

/** Undefined = nvidia-smi told nothing about cards: those it told of before are still there, so that no card changes its number. */
function nvidiaCards(
  answer: CommandResult,
  expectsCards: boolean,
  problem: ReportProblem,
): readonly NvidiaCard[] | undefined {
  switch (answer.kind) {
    case 'missing':
      if (expectsCards) problem('nvidia-smi is not on PATH: names and memory of NVIDIA cards are not known')
      return undefined
    case 'failed':
      if (expectsCards || !saysNoNvidiaCards(answer.reason)) problem(`nvidia-smi: ${answer.reason}`)
      return undefined
    case 'ok': {
      const { cards, strange } = parseNvidiaCards(answer.stdout)
      for (const line of strange) problem(`nvidia-smi says ${JSON.stringify(line.slice(0, 120))}`)
      if (cards.length > 0) return cards
      if (expectsCards) problem('nvidia-smi lists no card')
      return undefined
    }
  }
}

function withoutFree(card: NvidiaCard): NvidiaCard {
  const memory = card.memory.kind === 'own' ? { ...card.memory, freeBytes: undefined } : card.memory
  return { ...card, memory, busy: undefined, temperature: undefined }
}

function hasNvidia(cards: readonly DrmCard[]): boolean {
  return cards.some((card) => card.vendor === 'NVIDIA' && card.driver !== 'nouveau')
}

/** Asks rocm-smi only when sysfs does not tell the memory of an AMD card. */
async function withRocmMemory(
  cards: readonly DrmCard[],
  ask: () => Promise<CommandResult>,
  problem: ReportProblem,
): Promise<readonly DrmCard[]> {
  const amd = cards.filter((card) => card.vendor === 'AMD')
  if (amd.every((card) => card.memory.vramTotalBytes !== undefined)) return cards
  const answer = await ask()
  if (answer.kind === 'missing') return cards
  if (answer.kind === 'failed') problem(`rocm-smi: ${answer.reason}`)
  const rows = answer.kind === 'ok' ? parseRocmMemory(answer.stdout) : []
  if (rows === undefined) problem('rocm-smi answered with something that is no JSON')
  return cards.map((card) => {
    if (card.vendor !== 'AMD' || card.memory.vramTotalBytes !== undefined) return card
    // Without addresses it is certain only where there is one of each.
    const isOnly = amd.length === 1 && rows?.length === 1 && rows[0]?.pciAddress === undefined
    const row = isOnly
      ? rows[0]
      : rows?.find((one) => one.pciAddress !== undefined && one.pciAddress === card.pciAddress)
    return row === undefined ? card : { ...card, memory: row }
  })
}
