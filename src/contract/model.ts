import { z } from 'zod'
import { MODEL_ID_PATTERN, MODEL_ID_RULE, nameSchema } from './names.ts'

export const modelIdSchema = z.string().regex(MODEL_ID_PATTERN, `expected ${MODEL_ID_RULE}`)
const path = z.string().startsWith('/', 'expected an absolute path')
const whole = z.number().int().nonnegative()

/**
 * A row of models.toml: facts about a file or a file set. Only `path` or `files` is needed; what a row says wins over what the file's
 * header says. Source: SPEC 3.
 */
export const modelFactsShape = {
  /** The GGUF file, or the first part of a split one. */
  path: path.optional(),
  /** All parts of a split model, first part first. */
  files: z.array(path).min(1, 'expected at least one file').optional(),
  /** Of all parts. */
  size_bytes: whole.optional(),
  quant: z.string().optional(),
  architecture: z.string().optional(),
  /** Tokens. */
  native_ctx: z.number().int().positive().optional(),
  /** A Jinja file that replaces the template in the GGUF. */
  chat_template: path.optional(),
  mmproj: path.optional(),
  drafter: path.optional(),
  /** Does the file have multi-token-prediction heads? Absent = the `mtp` tag decides. */
  mtp: z.boolean().optional(),
  /** false = its template does not work with --jinja. */
  jinja: z.boolean().optional(),
  tags: z.array(z.string()).optional(),
  capabilities: z.array(z.string()).optional(),
  license: z.string().optional(),
  hf_repo: z.string().optional(),
  hf_filename: z.string().optional(),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'expected 64 hex digits')
    .optional(),
  preferred_profile: nameSchema.optional(),
} as const
export const modelFactsSchema = z.strictObject(modelFactsShape)
export type ModelFacts = z.output<typeof modelFactsSchema>

/** Numbers of the attention cache, from the header. Null = the file does not say. */
export const kvGeometrySchema = z.object({
  layers: whole.nullable(),
  /** Heads of K and V; one number, or one per layer (hybrid models: 0 = a layer without cache). */
  kv_heads: z.union([whole, z.array(whole)]).nullable(),
  heads: z.union([whole, z.array(whole)]).nullable(),
  embedding_length: whole.nullable(),
  /** Elements of one head. */
  key_length: whole.nullable(),
  value_length: whole.nullable(),
  /** Compressed cache of multi-head latent attention: elements per layer and token. */
  kv_lora_rank: whole.nullable(),
  /** Rotary elements kept beside the latent cache. */
  rope_dimensions: whole.nullable(),
  /** Tokens; null = every layer sees the whole window. */
  sliding_window: whole.nullable(),
  /** Every nth layer sees the whole window, or one flag per layer (true = sliding). */
  sliding_window_pattern: z.union([whole, z.array(z.boolean())]).nullable(),
  vocabulary: whole.nullable(),
  /** Elements of one head in sliding layers, where they differ; absent = as in the others. */
  key_length_swa: whole.optional(),
  value_length_swa: whole.optional(),
  /** Elements per token and layer that a sparse-attention index keeps beside the keys; absent = no index. */
  indexer_key_length: whole.optional(),
  /** Columns of a short convolution (LFM2); absent = none. */
  shortconv_cache: whole.optional(),
  /** Elements of one head of RWKV's state, and the embeddings that it shifts; absent = no such state. */
  wkv_head_size: whole.optional(),
  token_shift_count: whole.optional(),
  /** Elements of one head of a linear attention layer (Kimi); absent = none. */
  kda_head_length: whole.optional(),
  /** Recurrent state (Mamba and kin). */
  ssm: z
    .object({
      conv_kernel: whole.nullable(),
      inner_size: whole.nullable(),
      state_size: whole.nullable(),
      group_count: whole.nullable(),
    })
    .nullable(),
})
export type KvGeometry = z.infer<typeof kvGeometrySchema>

/** What the header of one GGUF file says. Null = it does not say. */
export const ggufFactsSchema = z.object({
  /** `model`, a projector for images or audio, an adapter, an importance matrix, or the vocabulary alone. */
  kind: z.enum(['model', 'mmproj', 'adapter', 'imatrix', 'vocabulary']),
  name: z.string().nullable(),
  architecture: z.string().nullable(),
  native_ctx: z.number().int().positive().nullable(),
  /** For example `Q4_K_M`, `BF16`. */
  quant: z.string().nullable(),
  parameters: whole.nullable(),
  /** The file brings a chat template. */
  has_chat_template: z.boolean(),
  /** Multi-token-prediction layers; 0 = none. */
  mtp_layers: whole,
  /** Pools: an embedding or reranking model. `rank` = reranking. */
  pooling: z.enum(['none', 'mean', 'cls', 'last', 'rank']).nullable(),
  /** Of a split file: this part (from 1) of how many. */
  split: z.object({ part: z.number().int().positive(), parts: z.number().int().positive() }).nullable(),
  license: z.string().nullable(),
  size_bytes: whole,
  kv: kvGeometrySchema,
})
export type GgufFacts = z.infer<typeof ggufFactsSchema>

/** Files that belong together, as a scan or an inspection finds them. */
export const foundModelSchema = z.object({
  /** Free as an id when it was looked for. */
  suggested_id: z.string(),
  /** The (first) file. */
  path: z.string(),
  /** All parts in order; one entry for a single file. */
  files: z.array(z.string()),
  /** Parts that should be there and are not. */
  missing: z.array(z.string()),
  /** Of all parts found. */
  size_bytes: whole,
  mmproj: z.string().nullable(),
  drafter: z.string().nullable(),
  facts: ggufFactsSchema,
  /** The id under which it is registered already. */
  registered_as: z.string().nullable(),
})
export type FoundModel = z.infer<typeof foundModelSchema>

/** One row of GET /api/models: the registry row with what its files say. */
export const modelRowSchema = z.object({
  id: z.string(),
  path: z.string(),
  files: z.array(z.string()),
  size_bytes: whole.nullable(),
  quant: z.string().nullable(),
  architecture: z.string().nullable(),
  parameters: whole.nullable(),
  native_ctx: z.number().int().nullable(),
  chat_template: z.string().nullable(),
  mmproj: z.string().nullable(),
  drafter: z.string().nullable(),
  /** The row's own word; null = unset. */
  mtp: z.boolean().nullable(),
  jinja: z.boolean().nullable(),
  tags: z.array(z.string()),
  capabilities: z.array(z.string()),
  license: z.string().nullable(),
  hf_repo: z.string().nullable(),
  hf_filename: z.string().nullable(),
  sha256: z.string().nullable(),
  preferred_profile: z.string().nullable(),
  /** Files that the row names and that are not there. */
  missing: z.array(z.string()),
  /** Why the file cannot be read as a model; null = it can. */
  problem: z.string().nullable(),
  /** Slots bound to it. */
  bound_by: z.array(z.string()),
})
export type ModelRow = z.infer<typeof modelRowSchema>
export const modelListSchema = z.object({ models: z.array(modelRowSchema) })

/** POST /api/models. Without `id` one is made from the file's name; facts are read from the file. */
export const modelAddSchema = z.strictObject({ id: modelIdSchema.optional(), ...modelFactsShape })
export type ModelAdd = z.output<typeof modelAddSchema>

/** PUT /api/models/{id}: absent keys stay, null deletes one. */
export const modelPatchSchema = z.strictObject(
  Object.fromEntries(Object.entries(modelFactsShape).map(([key, schema]) => [key, schema.unwrap().nullish()])) as {
    [Key in keyof typeof modelFactsShape]: z.ZodOptional<
      z.ZodNullable<ReturnType<(typeof modelFactsShape)[Key]['unwrap']>>
    >
  },
)
export type ModelPatch = z.output<typeof modelPatchSchema>

/** POST /api/models/scan. Without `folder`: the model store and the folders of `[models] scan`. */
export const modelScanSchema = z.strictObject({
  folder: path.optional(),
  /** Register what is new; else only report. */
  register: z.boolean().optional(),
})
export type ModelScan = z.output<typeof modelScanSchema>
export const scanReportSchema = z.object({
  found: z.array(foundModelSchema),
  /** Ids that were registered by this scan. */
  registered: z.array(z.string()),
  /** Files that were passed over, with the reason. */
  skipped: z.array(z.object({ path: z.string(), reason: z.string() })),
  /** GGUF files looked at. */
  files_seen: whole,
})
export type ScanReport = z.infer<typeof scanReportSchema>

/** POST /api/models/inspect. */
export const modelInspectSchema = z.strictObject({ path })

/** DELETE /api/models/{id}: what was done. */
export const modelRemovedSchema = z.object({ id: z.string(), deleted_files: z.array(z.string()), freed_bytes: whole })
export type ModelRemoved = z.infer<typeof modelRemovedSchema>
