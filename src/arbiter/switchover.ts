import { announce } from './announce.ts'
import { nothingToSwitchError, pinnedError } from './errors.ts'
import { imageProblemOf } from './gate.ts'
import type { Arbiter } from './ports.ts'
import { WAIT_MS } from './rules/timing.ts'
import type { ArbiterEffects } from './switch-host.ts'
import type { TurnLoop } from './turn-loop.ts'

/** Keeps the mode that is on, or no longer. */
export async function pin(loop: TurnLoop, effects: ArbiterEffects, pinned: boolean): Promise<void> {
  if (loop.state.now.pinned !== pinned) {
    const { mode } = loop.state.now
    const message = pinned ? `mode ${mode} is pinned` : `mode ${mode} is no longer pinned`
    announce(effects, 'info', 'arbiter.pinned', message, { mode, pinned })
  }
  const written = loop.state.keep({ pinned })
  loop.wake()
  await written
}

/** A person's switch: it does not wait until the mode has been kept long enough. Resolves when the mode is on. */
export async function switchover(
  loop: TurnLoop,
  effects: ArbiterEffects,
  request: Parameters<Arbiter['switchover']>[0],
): Promise<void> {
  const { mode, force } = request
  const rows = loop.readRows()
  const { offBecause, imageSlot } = loop.groups
  if (mode === 'img' && offBecause !== undefined) throw nothingToSwitchError(offBecause)
  const { now } = loop.state
  if ((now.switching_to ?? now.mode) !== mode) {
    if (now.pinned && !force) throw pinnedError(now.mode)
    const hopeless = mode === 'img' ? imageProblemOf(rows.find((row) => row.name === imageSlot)) : undefined
    if (hopeless !== undefined) throw hopeless
  }
  if (now.switching_to !== null || now.mode !== mode) {
    const isOn = loop.wishes.add(mode, loop.nowMs + WAIT_MS)
    loop.wake()
    await isOn
  }
  if (request.pin !== undefined) await pin(loop, effects, request.pin)
}
