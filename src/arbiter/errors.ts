import { Hal0Error, messageOf } from '../kernel/errors.ts'
import { MINUTE_MS, retryAfterSeconds, SECOND_MS } from '../kernel/units.ts'
import type { ArbiterMode } from './ports.ts'
import type { Groups } from './rules/choose-groups.ts'
import { DRAIN_MS, IMAGE_READY_MS, KEEP_MS } from './rules/timing.ts'

/** Nobody knows how long a person wants a pin: look again after this. */
const PINNED_RETRY_MS = MINUTE_MS
/** How long a ComfyUI that does not answer is given before one asks again. */
const UNREADABLE_RETRY_MS = 10_000
/** What a switch usually takes. */
const SWITCH_RETRY_MS = 15_000

const UNPIN = 'Unpin the mode with POST /api/comfyui/pin {"pinned": false}, or wait until it is unpinned.'

/** The other group has the memory, and this request has waited in vain, or need not wait at all. Errors: `gpu.image_mode`, `gpu.inference_mode`. */
export function wrongModeError(
  group: ArbiterMode,
  slot: string | undefined,
  why: 'pinned' | 'queue_unreadable' | 'waited' | 'not_now',
  retryMs = why === 'waited' ? KEEP_MS : SWITCH_RETRY_MS,
): Hal0Error {
  const who = slot === undefined ? 'the switch' : `slot ${slot}`
  const held = group === 'llm' ? 'images have the GPU memory' : 'the language models have the GPU memory'
  switch (why) {
    case 'pinned':
      return modeError(group, `${who} cannot go on: ${held}, and that is pinned`, slot, PINNED_RETRY_MS, UNPIN)
    case 'queue_unreadable':
      return modeError(
        group,
        `${who} cannot go on: ${held}, and ComfyUI does not say whether it still renders`,
        slot,
        UNREADABLE_RETRY_MS,
        'Wait for Retry-After. If it stays so, look at the image slot with `hal0 slot show` and `hal0 slot logs`.',
      )
    case 'waited':
      return modeError(group, `${who} cannot go on yet: ${held}, and it has waited long enough`, slot, retryMs)
    case 'not_now':
      return modeError(group, `${who} cannot start now: ${held}`, slot, retryMs)
  }
}

/** The language models did not come to rest in time; they go on. */
export function notQuietError(slot: string | undefined, busy: readonly string[]): Hal0Error {
  const who = busy.length === 0 ? 'requests for language models' : `requests of ${busy.join(', ')}`
  const message = `no memory for images: ${who} still ran after ${DRAIN_MS / 1000} s`
  return Hal0Error.of('gpu.inference_mode', message, {
    retryAfterS: retryAfterSeconds(KEEP_MS),
    details: { slot: slot ?? null, busy_slots: busy },
  })
}

/** The image slot failed to load, or took too long; the language models are loaded again. */
export function imageNotReadyError(slot: string, cause: unknown, retryAfterS = KEEP_MS / SECOND_MS): Hal0Error {
  const why = cause === undefined ? `was not ready after ${IMAGE_READY_MS / 1000} s` : `failed: ${messageOf(cause)}`
  const code = cause instanceof Hal0Error ? { cause_code: cause.code } : {}
  return Hal0Error.of('gpu.img_not_ready', `image slot ${slot} ${why}`, {
    retryAfterS: (cause instanceof Hal0Error ? cause.retryAfterS : undefined) ?? retryAfterS,
    details: { slot, ...code, remedy: `Look at \`hal0 slot logs ${slot}\` and at \`hal0 slot show ${slot}\`.` },
  })
}

/** A person asked for image mode where no image slot has a GPU. */
export function noImageSlotError(): Hal0Error {
  return Hal0Error.of('gpu.img_slot_missing', 'there is no image slot on a GPU to switch to', {
    details: { remedy: 'Create one with `hal0 slot create`: type image, on a GPU.' },
  })
}

/** A person asked for a mode where slots take no turns. */
export function nothingToSwitchError(offBecause: Groups['offBecause']): Hal0Error {
  if (offBecause === 'no_image_slot') return noImageSlotError()
  const why =
    offBecause === 'setting' ? '[slots] arbiter is "off"' : 'no image slot shares a GPU with a slot of another type'
  return Hal0Error.of('slot.illegal_transition', `image and language slots take no turns here: ${why}`, {
    details: { remedy: 'Nothing has to be switched: slots of both kinds may run at once.' },
  })
}

/** A person's switch meets a pin. */
export function pinnedError(mode: ArbiterMode): Hal0Error {
  return Hal0Error.of('gpu.pinned', `mode ${mode} is pinned`, { details: { mode, remedy: UNPIN } })
}

/** The daemon stops. */
export function closedError(slot: string): Hal0Error {
  return Hal0Error.of('slot.unloading', `slot ${slot} stops with the daemon`, { retryAfterS: 5, details: { slot } })
}

function modeError(
  group: ArbiterMode,
  message: string,
  slot: string | undefined,
  retryMs: number,
  remedy?: string,
): Hal0Error {
  const options = {
    retryAfterS: retryAfterSeconds(retryMs),
    details: { ...(slot === undefined ? {} : { slot }), ...(remedy === undefined ? {} : { remedy }) },
  }
  return group === 'llm'
    ? Hal0Error.of('gpu.image_mode', message, options)
    : Hal0Error.of('gpu.inference_mode', message, options)
}
