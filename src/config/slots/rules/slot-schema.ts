import { z } from 'zod'
import { modelIdSchema } from '../../../contract/model.ts'
import { MODEL_ID_RULE, NAME_PATTERN, NAME_RULE } from '../../../contract/names.ts'
import { DEFAULT_PRIORITY, DEVICES, SLOT_TYPES } from '../../../contract/slot-row.ts'
import { oneOf, tuneSchema } from '../../../contract/tune.ts'

const seconds = z.number('expected a number of seconds').nonnegative('expected 0 or more seconds').optional()
const text = z.string('expected some text').min(1, 'expected some text').optional()
const truth = z.boolean('expected true or false')
const name = z.string(`expected ${NAME_RULE}`).regex(NAME_PATTERN, `expected ${NAME_RULE}`)
/** No shell, no `=`: what every system takes as a name. */
const variable = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'expected a name of letters, digits and _')

const envValue = z.string('expected a string').refine((value) => !value.includes('\0'), 'expected no NUL')

/** A whole number from `low` (up to `high`). */
function whole(low: number, high?: number) {
  const message =
    high === undefined ? `expected a whole number, ${low} or more` : `expected a whole number from ${low} to ${high}`
  const schema = z.number(message).int(message).min(low, message)
  return high === undefined ? schema : schema.max(high, message)
}

/** `etc/hal0/slots/<name>.toml`. Source: SPEC 3 "slot". */
export const slotFileSchema = z.strictObject({
  name,
  /** Further names under which requests reach it. */
  aliases: z.array(name, 'expected a list of names').default([]),
  /** Absent = the lowest free port of `[slots] port_range`, kept. */
  port: whole(1, 65_535).optional(),
  type: oneOf(SLOT_TYPES).default('llm'),
  device: oneOf(DEVICES).default('cpu'),
  /** Absent = every GPU that no lane owns. */
  gpu_index: whole(0).optional(),
  n_gpu_layers: whole(-1).default(-1),
  threads: whole(0).default(0),
  /** Runner key; absent = the profile's, else by device. */
  binary: text,
  /** For hunting faults: another image than the runner's. */
  image_pin: text,
  runtime: z.enum(['process'], 'expected "process"').default('process'),
  /** Absent = the seed profile of the slot's type. */
  profile: name.optional(),
  /** The slot for its type when nothing else decides; one per type. */
  default: truth.default(false),
  /** Absent = true when a model is bound. */
  autoload: truth.optional(),
  /** Absent = true for `agent` and `utility`. */
  pinned: truth.optional(),
  priority: whole(0, 100).default(DEFAULT_PRIORITY),
  idle_timeout_s: seconds,
  /** 0 = never. */
  unload_after_s: seconds,
  /** Requests at once that the user expects; the engine's own number decides. */
  parallel_hint: whole(1).optional(),
  output_sanity: oneOf(['strict', 'lenient', 'off']).optional(),
  admission: oneOf(['enforce', 'warn', 'off']).optional(),
  model: z
    .strictObject({
      default: z.union([z.literal(''), modelIdSchema], `expected ${MODEL_ID_RULE}, or "" for none`).default(''),
    })
    .prefault({}),
  tune: tuneSchema.prefault({}),
  server: z.strictObject({ env: z.record(variable, envValue).default({}) }).prefault({}),
  npu: z.strictObject({ asr: truth.default(false), embed: truth.default(false) }).optional(),
  image: z
    .strictObject({
      default_size: z
        .string()
        .regex(/^\d+x\d+$/, 'expected WIDTHxHEIGHT, for example 1024x1024')
        .optional(),
      default_steps: whole(1).optional(),
    })
    .optional(),
  default_voice: text,
  default_speed: z
    .number('expected a number from 0.25 to 4')
    .min(0.25, 'expected 0.25 to 4')
    .max(4, 'expected 0.25 to 4')
    .optional(),
  default_response_format: oneOf(['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm']).optional(),
  /** Retired: accepted, ignored, told once. */
  lru: truth.optional(),
})
/** A slot file, read: what is absent has its default. */
export type SlotConfig = z.output<typeof slotFileSchema>
