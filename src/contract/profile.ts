import { z } from 'zod'
import { nameSchema } from './names.ts'
import { tuneShape } from './tune.ts'

export const profileNameSchema = nameSchema

/**
 * A profile as a person writes it, in profiles.toml and over the API: free engine flags and the tune. `flags`: a list of words, or one
 * string split as POSIX sh splits words, without expansion. Source: SPEC 3, 9.
 */
export const profileBodyShape = {
  flags: z.union([z.array(z.string()), z.string()], 'expected a list of words, or one string of them').optional(),
  ...tuneShape,
  /** Runner key; a slot's own `binary` wins. */
  runner: z.string().min(1, 'expected a runner key').optional(),
  /** One line for people. */
  intent: z
    .string()
    .max(200, 'expected at most 200 characters')
    .regex(/^[^\n\r]*$/, 'expected one line')
    .optional(),
  cloned_from: profileNameSchema.optional(),
} as const
export const profileBodySchema = z.strictObject(profileBodyShape)
export type ProfileBody = z.output<typeof profileBodySchema>

/** A key that profiles once had: a write that still says it is told what to say instead. */
const retiredShape = {
  mtp: z
    .unknown()
    .refine(() => false, 'is not a key of profiles any more; use speculation = "auto", "off" or "ngram"')
    .optional(),
} as const

/** POST /api/profiles. `from`: a profile whose keys are taken where this names none. */
export const profileCreateSchema = z.strictObject({
  name: profileNameSchema,
  from: profileNameSchema.optional(),
  ...profileBodyShape,
  ...retiredShape,
})
export type ProfileCreate = z.output<typeof profileCreateSchema>

/** PUT /api/profiles/{name}: keys that are absent stay, null deletes one. */
export const profilePatchSchema = z.strictObject({
  flags: profileBodyShape.flags.unwrap().nullish(),
  ctx_size: tuneShape.ctx_size.unwrap().nullish(),
  enable_thinking: tuneShape.enable_thinking.unwrap().nullish(),
  reasoning_effort: tuneShape.reasoning_effort.unwrap().nullish(),
  reasoning_budget: tuneShape.reasoning_budget.unwrap().nullish(),
  vision: tuneShape.vision.unwrap().nullish(),
  speculation: tuneShape.speculation.unwrap().nullish(),
  runner: profileBodyShape.runner.unwrap().nullish(),
  intent: profileBodyShape.intent.unwrap().nullish(),
  ...retiredShape,
})
export type ProfilePatch = z.output<typeof profilePatchSchema>

/** One row of GET /api/profiles. Null = the profile does not say. */
export const profileRowSchema = z.object({
  name: z.string(),
  /** Built in and immutable. */
  seed: z.boolean(),
  /** Words, as the engine gets them. */
  flags: z.array(z.string()),
  ctx_size: z.number().int().nullable(),
  enable_thinking: z.boolean().nullable(),
  reasoning_effort: z.string().nullable(),
  reasoning_budget: z.number().int().nullable(),
  vision: z.string().nullable(),
  speculation: z.string().nullable(),
  runner: z.string().nullable(),
  intent: z.string().nullable(),
  cloned_from: z.string().nullable(),
  /** Slots that run it, by name or as the default of their type. */
  used_by: z.array(z.string()),
})
export type ProfileRow = z.infer<typeof profileRowSchema>
export const profileListSchema = z.object({ profiles: z.array(profileRowSchema) })

/** What export gives and import takes: self-contained, without paths or secrets. `sha256`: of the canonical JSON of `profiles`. */
export const profileEnvelopeSchema = z.strictObject({
  kind: z.literal('hal0.profiles', 'expected "hal0.profiles"'),
  schema_version: z.literal(1, 'expected 1; a newer hal0 wrote this'),
  hal0_version: z.string(),
  profiles: z.record(profileNameSchema, profileBodySchema),
  sha256: z.string().regex(/^[0-9a-f]{64}$/, 'expected 64 hex digits'),
  /** Told at the export: what another machine may not have, for example a path in a flag. */
  notes: z.array(z.string()).optional(),
})
export type ProfileEnvelope = z.output<typeof profileEnvelopeSchema>

/** POST /api/profiles/import. A local profile of the same name wins unless `overwrite`. */
export const profileImportSchema = z.strictObject({
  envelope: profileEnvelopeSchema,
  overwrite: z.boolean().optional(),
})
export type ProfileImport = z.output<typeof profileImportSchema>
export const profileImportResultSchema = z.object({
  created: z.array(z.string()),
  overwritten: z.array(z.string()),
  /** Kept as they were, with the reason. */
  skipped: z.array(z.object({ name: z.string(), reason: z.string() })),
})
export type ProfileImportResult = z.infer<typeof profileImportResultSchema>
