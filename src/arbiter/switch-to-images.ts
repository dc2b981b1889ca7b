import { isDispatchable } from '../contract/slot-row.ts'
import type { Hal0Error } from '../kernel/errors.ts'
import { isoTime } from '../kernel/units.ts'
import { announce } from './announce.ts'
import { Claims } from './claims.ts'
import { withLimit } from './comfy-view.ts'
import { imageNotReadyError, noImageSlotError, notQuietError } from './errors.ts'
import { isResident, isWanted } from './rules/residence.ts'
import { DRAIN_MS, IMAGE_READY_MS, STOP_MS } from './rules/timing.ts'
import { stopImageSlot } from './stop-image-slot.ts'
import type { SwitchHost, SwitchOutcome } from './switch-host.ts'

/**
 * Gives the memory to images: saves what the language models have, waits until their requests have ended, unloads them, has the image slot
 * ready. What goes wrong is rolled back: the mode stays `llm` and `saved_slots` holds exactly what has to be loaded again.
 * Source: SPEC 8 "An image request switches".
 */
export async function switchToImages(host: SwitchHost, reason: string): Promise<SwitchOutcome> {
  const begunMs = host.clock.monotonicMs()
  host.setStage('draining')
  const serving = host.rowsOf('llm').filter(isWanted)
  const saved = [...new Set([...host.state.now.saved_slots, ...serving.map((row) => row.name)])]
  // On disk before anything is touched: a daemon that dies in between leaves word of what to load again.
  await host.state.keep({ switching_to: 'img', saved_slots: saved })
  announce(host, 'info', 'arbiter.switching', `images get the GPU memory: ${reason}`, {
    to: 'img',
    reason,
    saved_slots: saved,
  })

  const claims = new Claims(host)
  const isOver = () => {
    if (obstacleOf(host) !== undefined) return true
    // First the requests, then the slots: a slot that is claimed too early keeps those in its queue from ever ending.
    return host.busySlots('llm').length === 0 && claims.allGone()
  }
  let isDrained = await host.until(isOver, DRAIN_MS)
  // Quiet in time: what is left is the stop of processes, which ends by itself.
  if (!isDrained && isQuiet(host)) isDrained = await host.until(isOver, STOP_MS)
  const busy = [...new Set([...host.busySlots('llm'), ...claims.slots])]
  claims.giveUp()
  const drainMs = host.clock.monotonicMs() - begunMs
  if (host.isClosed()) return { kind: 'cancelled' }
  if (!isDrained) return rollBack(host, notQuietError(host.imageTarget(), busy), { drain_ms: drainMs })
  if (obstacleOf(host) !== undefined) return rollBack(host, undefined, { drain_ms: drainMs })

  host.setStage('loading')
  const failure = await loadImageSlot(host)
  if (host.isClosed()) return { kind: 'cancelled' }
  const totalMs = host.clock.monotonicMs() - begunMs
  const times = { drain_ms: drainMs, load_ms: totalMs - drainMs, total_ms: totalMs }
  if (failure !== undefined) return rollBack(host, failure, times)
  if (host.isPinnedAgainst('img')) return rollBack(host, undefined, times)
  const nowMs = host.clock.nowMs()
  void host.state.keep({ mode: 'img', switching_to: null, since_ms: nowMs })
  const data = { from: 'llm', to: 'img', reason, ...times, saved_slots: host.state.now.saved_slots, at: isoTime(nowMs) }
  announce(host, 'info', 'arbiter.switched', `images have the GPU memory: ${reason}`, data)
  return { kind: 'done' }
}

/** Why the language models keep the memory although nothing went wrong; undefined = no reason. */
function obstacleOf(host: SwitchHost): string | undefined {
  if (host.isPinnedAgainst('img')) return 'the mode is pinned'
  return host.isWanted('img') ? undefined : 'nobody waits for images any more'
}

/** No request for a language model runs, whoever let it in. */
function isQuiet(host: SwitchHost): boolean {
  return host.busySlots('llm').length === 0 && host.rowsOf('llm').every((row) => row.in_flight === 0)
}

async function loadImageSlot(host: SwitchHost): Promise<Hal0Error | undefined> {
  const slot = host.imageTarget()
  if (slot === undefined) return noImageSlotError()
  const row = () => host.rowsOf('img').find(({ name }) => name === slot)
  const isReady = () => {
    const found = row()
    return found !== undefined && isDispatchable(found)
  }
  // It stays resident between the modes.
  if (isReady()) return undefined
  let thrown: unknown
  const load = host.slots.load(slot).then(
    () => true,
    (cause: unknown) => {
      thrown = cause
      return false
    },
  )
  const isLoaded = await withLimit(host.clock, IMAGE_READY_MS, load).catch(() => false)
  if (host.isClosed() || (isLoaded && isReady())) return undefined
  const found = row()
  if (found !== undefined && isResident(found)) await stopImageSlot(host, slot)
  return imageNotReadyError(slot, thrown)
}

/** `error` undefined: nobody waits for images any more, or the language models were pinned. */
function rollBack(host: SwitchHost, error: Hal0Error | undefined, times: Record<string, number>): SwitchOutcome {
  const up = new Set(
    host
      .rowsOf('llm')
      .filter(isDispatchable)
      .map((row) => row.name),
  )
  const lost = host.state.now.saved_slots.filter((name) => !up.has(name))
  void host.state.keep({ switching_to: null, saved_slots: lost })
  const reason = error?.message ?? obstacleOf(host) ?? 'nobody waits for images any more'
  const data = { to: 'img', reason, code: error?.code ?? null, ...times, reloads: lost }
  announce(
    host,
    error === undefined ? 'info' : 'warning',
    'arbiter.rolled_back',
    `the language models keep the GPU memory: ${reason}`,
    data,
  )
  return error === undefined ? { kind: 'cancelled' } : { kind: 'failed', error }
}
