import type { SlotRow } from '../../contract/slot-row.ts'

/** Who takes turns with whom. */
export interface Groups {
  /** Names, in the order of the rows. Empty = nobody takes turns. */
  readonly llm: readonly string[]
  readonly img: readonly string[]
  /** The image slot that a person's switch loads; undefined = no image slot takes turns. */
  readonly imageSlot: string | undefined
  /** Why nobody takes turns; undefined = they do. */
  readonly offBecause: 'setting' | 'no_image_slot' | 'nothing_shared' | undefined
}

export type ArbiterSetting = 'auto' | 'on' | 'off'

/** What of a slot decides where its memory is and what it does with it. */
export type GroupRow = Pick<SlotRow, 'name' | 'type' | 'runner' | 'device' | 'gpu_index' | 'managed_by' | 'default'>

/**
 * Which slots take turns on GPU memory? `auto`: image slots and those that share a card with one of them; `on`: all GPU slots, whatever
 * `gpu_index` says. Never slots of a lane, of the CPU or of the NPU. Source: SPEC 8 "Arbiter".
 */
export function chooseGroups(rows: readonly GroupRow[], setting: ArbiterSetting): Groups {
  const off = (offBecause: NonNullable<Groups['offBecause']>): Groups => ({
    llm: [],
    img: [],
    imageSlot: undefined,
    offBecause,
  })
  const onGpu = rows.filter((row) => row.device.startsWith('gpu-') && row.managed_by !== 'lane')
  const images = onGpu.filter(isImage)
  if (images.length === 0) return off('no_image_slot')
  if (setting === 'off') return off('setting')
  const others = onGpu.filter((row) => !isImage(row))
  const shares = (a: GroupRow, b: GroupRow) => setting === 'on' || mayShareCard(a, b)
  const llm = others.filter((row) => images.some((image) => shares(row, image)))
  if (llm.length === 0) return off('nothing_shared')
  const img = images.filter((image) => llm.some((row) => shares(row, image)))
  const imageSlot = (img.find((row) => row.default) ?? img[0])?.name
  return { llm: llm.map(nameOf), img: img.map(nameOf), imageSlot, offBecause: undefined }
}

function isImage({ type, runner }: GroupRow): boolean {
  return type === 'image' || runner === 'comfyui'
}

/** Vulkan reaches cards of every vendor; the other two only their own. A slot without an index may use every card. */
function mayShareCard(a: GroupRow, b: GroupRow): boolean {
  const vendors = new Set([a.device, b.device])
  if (vendors.has('gpu-rocm') && vendors.has('gpu-cuda')) return false
  return a.gpu_index === null || b.gpu_index === null || a.gpu_index === b.gpu_index
}

function nameOf({ name }: GroupRow): string {
  return name
}
