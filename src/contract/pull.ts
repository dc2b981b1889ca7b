import { z } from 'zod'
import { errorBodySchema } from './error-body.ts'
import { modelIdSchema } from './model.ts'

export const PULL_STATES = ['running', 'verifying', 'done', 'failed', 'cancelled'] as const

/**
 * POST /api/models/{id}/pull, and `hal0 model pull`. `repo` without `file`: the hub is asked what there is, and `quant` chooses.
 * Source: SPEC 3 `hf_repo`, `hf_filename`.
 */
export const pullRequestSchema = z.strictObject({
  /** `org/name`; absent = the row's `hf_repo`. */
  repo: z
    .string()
    .regex(/^[\w.-]+\/[\w.-]+$/, 'expected org/name')
    .optional(),
  /** Path in the repository; of a split model the first part. Absent = the row's `hf_filename`, else chosen by `quant`. */
  file: z
    .string()
    .regex(/\.gguf$/i, 'expected a .gguf file')
    .optional(),
  /** For example `Q4_K_M` (the default). */
  quant: z.string().min(1).optional(),
  /** Branch, tag or commit. */
  revision: z.string().min(1).optional(),
})
export type PullRequest = z.output<typeof pullRequestSchema>

/** A pull as it stands. */
export const pullJobSchema = z.object({
  /** The model id; one job per model. */
  id: modelIdSchema,
  state: z.enum(PULL_STATES),
  repo: z.string(),
  /** Files in the repository, in the order of their download; a projector that belongs to the model comes along. */
  files: z.array(z.string()),
  /** Of all files; null until the hub has said. */
  total_bytes: z.number().int().nonnegative().nullable(),
  /** On disk already, parts of an earlier pull included. */
  done_bytes: z.number().int().nonnegative(),
  /** Of the last seconds; null = not known yet. */
  bytes_per_second: z.number().nonnegative().nullable(),
  /** Times the connection was lost and taken up again. */
  resumes: z.number().int().nonnegative(),
  started_at: z.string(),
  finished_at: z.string().nullable(),
  /** Set exactly when `state` is `failed`. */
  error: errorBodySchema.shape.error.nullable(),
})
export type PullJob = z.infer<typeof pullJobSchema>
export const pullListSchema = z.object({ pulls: z.array(pullJobSchema) })
