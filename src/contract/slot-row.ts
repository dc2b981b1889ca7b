import { z } from 'zod'
import { idleReasonSchema, slotFailureSchema, slotStateSchema } from './slot-state.ts'

export const SLOT_TYPES = ['llm', 'embedding', 'reranking', 'transcription', 'tts', 'image'] as const
export const slotTypeSchema = z.enum(SLOT_TYPES)
export type SlotType = z.infer<typeof slotTypeSchema>

export const DEVICES = ['gpu-rocm', 'gpu-vulkan', 'gpu-cuda', 'cpu', 'npu'] as const
export const deviceSchema = z.enum(DEVICES)
export type Device = z.infer<typeof deviceSchema>

/** The slot that `quickstart` makes and that answers when a request names none. Source: SPEC 6. */
export const DEFAULT_SLOT = 'agent'

/** Phases of a load in ms; absent = did not happen. Source: SPEC 5. */
export const LOAD_PHASES = ['queue', 'evict', 'drain', 'stop', 'release', 'spawn', 'warm', 'sanity'] as const
export const loadPhasesSchema = z.partialRecord(z.enum(LOAD_PHASES), z.number().nonnegative())
export type LoadPhases = z.infer<typeof loadPhasesSchema>

/** Who decides the context window. Source: SPEC 9 "Context". */
export const CONTEXT_SOURCES = ['slot', 'profile', 'native', 'fallback'] as const
export type ContextSource = (typeof CONTEXT_SOURCES)[number]

/** A context window with who decided it. */
export interface ContextChoice {
  readonly ctxTokens: number
  readonly source: ContextSource
}

/** Source: SPEC 6 "View". */
export const breakerViewSchema = z.object({
  /** `backoff` and `parked`: nothing starts before `retry_after_s`; `half_open`: the next request starts the one trial, or it runs. */
  state: z.enum(['backoff', 'parked', 'half_open']),
  failures: z.number().int().positive(),
  /** 0 when a request may start it now. */
  retry_after_s: z.number().int().nonnegative(),
})
export type BreakerView = z.infer<typeof breakerViewSchema>

/** One row of GET /api/slots. Source: SPEC 16; keys that no feature fills yet are not listed. */
export const slotRowSchema = z.object({
  name: z.string(),
  state: slotStateSchema,
  /** Names besides its own under which requests reach it. */
  aliases: z.array(z.string()),
  /** What runs or would run. */
  model_id: z.string().nullable(),
  /** What the slot's file binds: another than `model_id` while one was swapped in, or loaded on demand. */
  file_model_id: z.string().nullable(),
  /** The profile a start now would use; null while the file cannot be read. */
  profile: z.string().nullable(),
  type: slotTypeSchema,
  device: deviceSchema,
  /** Pinned to one GPU; null = all that are free for slots. */
  gpu_index: z.number().int().nonnegative().nullable(),
  port: z.number().int().nullable(),
  pid: z.number().int().nullable(),
  runtime: z.enum(['process', 'quadlet']),
  runner: z.string(),
  /** Requests that hold a lease. */
  in_flight: z.number().int().nonnegative(),
  /** Requests that wait for a load or for a place at the engine. */
  queued: z.number().int().nonnegative(),
  /** Parallel sequences of the running engine; null while none runs. */
  parallel: z.number().int().positive().nullable(),
  autoload: z.boolean(),
  pinned: z.boolean(),
  /** 0–100; the lowest is evicted first. */
  priority: z.number().int(),
  /** Answers for its type when nothing else decides. */
  default: z.boolean(),
  /** What a start now would change of what runs, as keys; empty = nothing, or nothing runs. Source: SPEC 2. */
  restart_needed: z.array(z.string()),
  /** What the live process runs differently from its files: ctx size, model, alias, batch, ubatch. Source: SPEC 9 "Drift". */
  config_drift: z.array(z.string()),
  /** Why a start now would fail, as far as its files say; null = it would not. */
  config_problem: z.string().nullable(),
  /** Tokens of the context window of the last launch; null = none in the life of this daemon. */
  ctx_effective: z.number().int().positive().nullable(),
  /** Who decided that window; null exactly when `ctx_effective` is. */
  ctx_source: z.enum(CONTEXT_SOURCES).nullable(),
  /** ISO 8601; null = never in the life of this daemon. */
  last_used_at: z.string().nullable(),
  updated_at: z.string(),
  message: z.string(),
  /** Why the slot is `idle`; null in every other state. `no_model` cannot serve. */
  idle_reason: idleReasonSchema.nullable(),
  failure: slotFailureSchema.nullable(),
  /** Null = no failure counts. */
  breaker: breakerViewSchema.nullable(),
  /** What hal0 counts for the engine that runs: weights, KV cache and overhead; null = nothing runs, or it cannot be told. */
  mem_bytes: z.number().int().nonnegative().nullable(),
  /** Who decides what it runs besides people; null = nobody. `arbiter`: it was unloaded for images, and comes back. */
  managed_by: z.enum(['lane', 'arbiter']).nullable(),
  /** Of the last completed load. */
  phases: loadPhasesSchema.nullable(),
})
export type SlotRow = z.infer<typeof slotRowSchema>

/** Can it serve without a load? An idle slot whose engine lists no model cannot. Source: SPEC 4. */
export function isDispatchable({ state, idle_reason }: Pick<SlotRow, 'state' | 'idle_reason'>): boolean {
  return state === 'ready' || state === 'serving' || (state === 'idle' && idle_reason !== 'no_model')
}

/** `priority` of a slot that says none. Source: SPEC 3. */
export const DEFAULT_PRIORITY = 50
