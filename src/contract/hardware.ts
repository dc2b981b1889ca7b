import { z } from 'zod'

const bytes = z.number().int().nonnegative()

/**
 * One place that holds models. `host`: main memory. `vram`: the memory of one card. `unified`: a GPU that shares main memory (APU, Grace);
 * what host programs take is missing there too.
 */
export const memoryPoolSchema = z.object({
  /** `host`, or `gpu0`, `gpu1` … in the order of `gpus`. */
  id: z.string(),
  kind: z.enum(['host', 'vram', 'unified']),
  total_bytes: bytes.nullable(),
  /** Null = it cannot be read. */
  free_bytes: bytes.nullable(),
})
export type MemoryPoolRow = z.infer<typeof memoryPoolSchema>

/** One GPU. Null = the machine does not say. */
export const gpuRowSchema = z.object({
  /** As in `gpu_index` of a slot: counted per vendor, in PCI order. */
  index: z.number().int().nonnegative(),
  vendor: z.enum(['AMD', 'NVIDIA', 'Intel', 'unknown maker']),
  name: z.string().nullable(),
  pci_address: z.string().nullable(),
  /** Its `MemoryPoolRow`. */
  pool: z.string(),
  /** Main memory that it may use besides its own. */
  gtt_total_bytes: bytes.nullable(),
  /** Percent. */
  busy: z.number().min(0).max(100).nullable(),
  /** °C. */
  temperature: z.number().nullable(),
})
export type GpuRow = z.infer<typeof gpuRowSchema>

/** GET /api/hardware. Source: SPEC 16. */
export const hardwareSchema = z.object({
  cpu: z.object({ model: z.string().nullable(), cores: z.number().int().positive() }),
  pools: z.array(memoryPoolSchema),
  gpus: z.array(gpuRowSchema),
  npu: z.object({ name: z.string().nullable(), device: z.string() }).nullable(),
  /** Readers that failed, each with its reason: what they would have said is missing above. */
  problems: z.array(z.string()),
})
export type Hardware = z.infer<typeof hardwareSchema>
