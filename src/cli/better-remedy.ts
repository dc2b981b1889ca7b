import { ClientError } from '../client/client-errors.ts'
import { isSeedSlot } from '../config/slots/rules/seed-slot-table.ts'
import type { SlotRow } from '../contract/slot-row.ts'
import type { SlotFailure } from '../contract/slot-state.ts'

/** How each runner that names its models itself calls them, and where they are listed. */
const TAG_NAMES: Readonly<Record<string, readonly [word: string, where: string]>> = {
  comfyui: ['CHECKPOINT', 'a checkpoint, by the name that ComfyUI has for it'],
  flm: ['TAG', 'a tag that `flm list` shows'],
}

/** The remedy of a daemon's failure where the command line knows one that fits the slot better than the general one. */
export function betterRemedy({ code, details }: ClientError): string | undefined {
  const { slot } = details
  if (code !== 'slot.not_found' || typeof slot !== 'string' || !isSeedSlot(slot)) return undefined
  return `A slot of this name comes with hal0: \`hal0 slot reseed ${slot}\` makes it. \`hal0 slot list\` shows those there are.`
}

type Slot = Pick<SlotRow, 'name' | 'runner'>

/** The remedy of a slot's failure, but for "it has no model" of a runner whose models no registry has: then where those are listed. */
export function slotRemedy({ name, runner }: Slot, { code, remedy }: Pick<SlotFailure, 'code' | 'remedy'>): string {
  const words = TAG_NAMES[runner]
  if (words === undefined || code !== 'slot.not_ready' || !remedy.includes('hal0 model list')) return remedy
  const [word, where] = words
  return `Bind one: \`hal0 slot edit ${name} --model ${word}\`, ${where}.`
}

/** A failure of an operation on the slot, with `slotRemedy`; whatever else was thrown comes back as it is. */
export function withSlotRemedy(thrown: unknown, slot: Slot): unknown {
  if (!(thrown instanceof ClientError) || thrown.remedy === undefined) return thrown
  const { code, remedy } = thrown
  const better = slotRemedy(slot, { code, remedy })
  return better === remedy ? thrown : thrown.withRemedy(better)
}
