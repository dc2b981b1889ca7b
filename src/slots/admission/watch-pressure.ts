import { sleep } from '../../kernel/clock.ts'
import { messageOf } from '../../kernel/errors.ts'
import { SECOND_MS } from '../../kernel/units.ts'
import type { DeskDeps, OpenMemoryDesk } from './desk-ports.ts'
import { choosePressureVictim, findPressure } from './rules/find-pressure.ts'
import { footprintBytes } from './rules/memory-limits.ts'

/** How often main memory is looked at. Source: SPEC 7 "Memory pressure". */
const SAMPLE_MS = 30 * SECOND_MS
/** While memory is on its way already: how often it is asked whether it has come. */
const MOVING_LOOK_MS = 250

/** The desk decides for loads; this one for the machine. */
export interface PressureDeps extends DeskDeps {
  readonly desk: Pick<OpenMemoryDesk, 'snapshot' | 'isMoving' | 'evictForPressure'>
}

/**
 * Unloads quiet slots while main memory is short: two samples in a row, then one slot, wait until its memory is back, measure again. Stands back
 * while a load makes others go: its memory is on its way. `close` ends it; an eviction that runs goes on. Source: SPEC 7 "Memory pressure".
 */
export function watchPressure(deps: PressureDeps): { close(): void } {
  const ending = new AbortController()
  void watch(deps, ending.signal)
  return { close: () => ending.abort() }
}

async function watch(deps: PressureDeps, signal: AbortSignal): Promise<void> {
  let short = new Set<string>()
  for (;;) {
    await sleep(deps.clock, SAMPLE_MS, signal)
    if (signal.aborted) return
    try {
      const before = short
      short = await samplePressure(deps)
      const isLasting = [...short].some((id) => before.has(id))
      if (isLasting) await relieve(deps, signal)
    } catch (cause) {
      deps.log.error({ error: messageOf(cause) }, 'main memory could not be watched')
    }
  }
}

async function samplePressure(deps: PressureDeps): Promise<Set<string>> {
  return new Set(findPressure(await deps.meter.read(), deps.settings()).map(({ id }) => id))
}

/** One after the other, until it is enough or nobody is left. */
async function relieve(deps: PressureDeps, signal: AbortSignal): Promise<void> {
  const refused = new Set<string>()
  while (!signal.aborted) {
    if (await deps.desk.isMoving()) return
    const pools = await deps.meter.read()
    const [pressure] = findPressure(pools, deps.settings())
    if (pressure === undefined) return
    const snapshot = deps.desk.snapshot(pools)
    const holders = snapshot.holders.filter((holder) => !refused.has(holder.slot))
    const victim = choosePressureVictim(pools, holders, deps.clock.monotonicMs())
    const facts = { pool: pressure.id, free_bytes: pressure.freeBytes, mark_bytes: pressure.markBytes }
    if (victim === undefined) {
      deps.log.warn(facts, 'memory is short and no slot may be unloaded for it')
      return
    }
    const { slot } = victim
    deps.log.info({ ...facts, slot }, 'memory is short: a slot is unloaded')
    const outcome = await deps.desk.evictForPressure(slot, footprintBytes(snapshot, victim))
    // It was used meanwhile: the next in order, at once.
    if (outcome === 'refused') refused.add(slot)
    else await untilReleased(deps, signal)
  }
}

async function untilReleased(deps: PressureDeps, signal: AbortSignal): Promise<void> {
  const untilMs = deps.clock.monotonicMs() + deps.settings().releaseWaitMs
  while (!signal.aborted && deps.clock.monotonicMs() < untilMs && (await deps.desk.isMoving())) {
    await sleep(deps.clock, MOVING_LOOK_MS, signal)
  }
}
