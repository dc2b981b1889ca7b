import { z } from 'zod'
import { slotTypeSchema } from './slot-row.ts'

/** How an engine's command line is written; `template` = `[runners.<key>]` says. Source: SPEC 9, 10. */
export const DIALECTS = ['llama-server', 'vllm', 'sglang', 'flm', 'template'] as const
export type Dialect = (typeof DIALECTS)[number]

/** What an engine build can do beyond answering. */
export const engineAbilitiesSchema = z.object({
  jinja: z.boolean(),
  /** Takes a projector for images. */
  mmproj: z.boolean(),
  /** Speculates with a second, smaller model. */
  drafter: z.boolean(),
  /** Speculates with the model's own prediction heads. */
  mtp: z.boolean(),
  /** Speculates by n-gram lookup. */
  ngram: z.boolean(),
})
export type EngineAbilities = z.infer<typeof engineAbilitiesSchema>

/** What a binary's own `--help` says of its flags. Source: SPEC 9. */
export interface EngineHelp {
  /** Every spelling with its option; spellings of one option share the object. */
  readonly flags: ReadonlyMap<string, HelpOption>
}

export interface HelpOption {
  /** All spellings, as printed; `--x` and `--no-x` may be one option. */
  readonly names: readonly string[]
  /** Values it takes; 0 = a switch. */
  readonly values: number
  /** The allowed values, where the help lists them in the placeholder; else empty. */
  readonly choices: readonly string[]
}

/** One row of GET /api/runners. */
export const runnerRowSchema = z.object({
  key: z.string(),
  title: z.string(),
  dialect: z.enum(DIALECTS),
  types: z.array(slotTypeSchema),
  routes: z.array(z.string()),
  /** Program and what stands before the flags; null = not found. */
  command: z.array(z.string()).nullable(),
  /** The first line of `--version`; null = not found or does not say. */
  version: z.string().nullable(),
  /** Null = not found. */
  abilities: engineAbilitiesSchema.nullable(),
  /** Engine keys keep other local users out. */
  has_keys: z.boolean(),
  /** Why it cannot be used, with what to do; null = it can. */
  problem: z.string().nullable(),
})
export type RunnerRow = z.infer<typeof runnerRowSchema>
export const runnerListSchema = z.object({ runners: z.array(runnerRowSchema) })
