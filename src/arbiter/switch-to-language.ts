import { messageOf } from '../kernel/errors.ts'
import { isoTime } from '../kernel/units.ts'
import { announce } from './announce.ts'
import { readQueues, withLimit } from './comfy-view.ts'
import { isResident } from './rules/residence.ts'
import { COMFY_ANSWER_MS } from './rules/timing.ts'
import { stopImageSlot } from './stop-image-slot.ts'
import type { SwitchHost, SwitchOutcome } from './switch-host.ts'

/**
 * Gives the memory back to the language models: lets go of the diffusion models, then the mode is `llm`. The saved slots are loaded by
 * whoever is at rest in that mode. When the memory does not come free the mode stays `img`: `cancelled`.
 * Source: SPEC 8 "About 10 s after the last one".
 */
export async function switchToLanguage(host: SwitchHost, reason: string): Promise<SwitchOutcome> {
  const begunMs = host.clock.monotonicMs()
  host.setStage('freeing')
  await host.state.keep({ switching_to: 'llm' })
  const data = { to: 'llm', reason, saved_slots: host.state.now.saved_slots }
  announce(host, 'info', 'arbiter.switching', `the language models get the GPU memory: ${reason}`, data)

  const obstacle = await freeImages(host)
  if (host.isClosed()) return { kind: 'cancelled' }
  const totalMs = host.clock.monotonicMs() - begunMs
  if (obstacle !== undefined) {
    void host.state.keep({ switching_to: null })
    announce(host, 'warning', 'arbiter.free_failed', `images keep the GPU memory: ${obstacle}`, {
      reason: obstacle,
      total_ms: totalMs,
    })
    return { kind: 'cancelled' }
  }
  const nowMs = host.clock.nowMs()
  // On disk before a slot is loaded: a daemon that dies then would find language models in the middle of image mode, and unload them.
  await host.state.keep({ mode: 'llm', switching_to: null, since_ms: nowMs })
  announce(host, 'info', 'arbiter.switched', `the language models have the GPU memory: ${reason}`, {
    from: 'img',
    to: 'llm',
    reason,
    free_ms: totalMs,
    total_ms: totalMs,
    saved_slots: host.state.now.saved_slots,
    at: isoTime(nowMs),
  })
  return { kind: 'done' }
}

/** Undefined = the memory of images is free; else why it is not. */
async function freeImages(host: SwitchHost): Promise<string | undefined> {
  const { clock, comfyOf } = host
  for (const row of host.rowsOf('img').filter(isResident)) {
    try {
      await withLimit(clock, COMFY_ANSWER_MS, comfyOf(row).free())
    } catch (cause) {
      if (host.isClosed()) return undefined
      const refused = `${row.name} does not free its memory (${messageOf(cause)})`
      const renders = await rendersOf(host)
      if (renders !== undefined) return `${refused}, and ${renders}`
      host.log.warn({ slot: row.name }, `${refused}; it is stopped, as nothing renders`)
      if (!(await stopImageSlot(host, row.name))) return `${refused} and does not stop`
    }
    if (host.isClosed()) return undefined
  }
  // A person may have begun a render in ComfyUI itself meanwhile, or have pinned images.
  const renders = await rendersOf(host)
  return renders ?? (host.isPinnedAgainst('llm') ? 'the mode is pinned' : undefined)
}

/** Undefined = nothing renders; else what is known. */
async function rendersOf(host: SwitchHost): Promise<string | undefined> {
  const queue = await readQueues(host.rowsOf('img'), host.comfyOf, host.clock)
  if (queue.kind === 'unreadable') return "ComfyUI's queue cannot be read"
  return queue.kind === 'read' && queue.running + queue.pending > 0 ? 'ComfyUI renders' : undefined
}
