import { z } from 'zod'

/** GET /api/slots/{n}/config: what the slot's file says, keys as in the file. Source: SPEC 3. */
export const slotConfigSchema = z.object({
  name: z.string(),
  /** The file as data; a key that is absent has its default. */
  config: z.record(z.string(), z.unknown()),
})
export type SlotConfigView = z.infer<typeof slotConfigSchema>

/** POST /api/slots and PUT /api/slots/{n}/config take the file's keys as data; null deletes a key. Validated by the write gate. */
export const slotPayloadSchema = z.record(z.string(), z.unknown())
export type SlotPayload = z.infer<typeof slotPayloadSchema>

/** What a change of a slot's file did. */
export const slotChangeSchema = z.object({
  name: z.string(),
  config: z.record(z.string(), z.unknown()),
  /** Keys whose value is another one now, dotted. */
  changed: z.array(z.string()),
  /** Of those that run: what differs from a start now; empty = nothing runs, or all of it is applied. */
  restart_needed: z.array(z.string()),
  /** Why a start now would fail; null = it would not. */
  problem: z.string().nullable(),
})
export type SlotChange = z.infer<typeof slotChangeSchema>

/** POST /api/slots/{n}/swap. */
export const slotSwapSchema = z.strictObject({
  model_id: z.string().min(1, 'expected a model id'),
  /** Write the binding to the slot's file; else it holds until the slot is unloaded. */
  persist: z.boolean().optional(),
})

/** POST /api/slots/{n}/rename. */
export const slotRenameSchema = z.strictObject({ to: z.string().min(1, 'expected a name') })

/** POST /api/slots/reseed. `names` absent = all seeds. */
export const reseedSchema = z.strictObject({ names: z.array(z.string()).optional() })
export const reseedResultSchema = z.object({
  created: z.array(z.string()),
  /** There already. */
  kept: z.array(z.string()),
  /** Not on this machine, with the reason. */
  skipped: z.array(z.object({ name: z.string(), reason: z.string() })),
})
export type ReseedResult = z.infer<typeof reseedResultSchema>
