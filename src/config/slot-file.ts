import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { z } from 'zod'
import { NAME_PATTERN, NAME_RULE } from '../contract/names.ts'
import { DEVICES, SLOT_TYPES } from '../contract/slot-row.ts'
import { oneOf, tuneSchema } from '../contract/tune.ts'
import type { Home } from '../files/home.ts'
import { errnoOf, Hal0Error, messageOf } from '../kernel/errors.ts'
import { readConfigText } from './config-text.ts'
import { configError } from './mistake.ts'
import { parseToml } from './toml-file.ts'

const seconds = z.number('expected a number of seconds').nonnegative('expected 0 or more seconds').optional()
const text = z.string().min(1, 'expected some text').optional()

/** `etc/hal0/slots/<name>.toml`. Source: SPEC 3 "slot". */
export const slotFileSchema = z.strictObject({
  name: z.string().regex(NAME_PATTERN, `expected ${NAME_RULE}`),
  /** Further names under which requests reach it. */
  aliases: z.array(z.string().regex(NAME_PATTERN, `expected ${NAME_RULE}`)).default([]),
  /** Absent = the lowest free port of `[slots] port_range`, kept. */
  port: z.number().int().min(1).max(65_535).optional(),
  type: oneOf(SLOT_TYPES).default('llm'),
  device: oneOf(DEVICES).default('cpu'),
  /** Absent = every GPU that no lane owns. */
  gpu_index: z.number().int('expected a whole number').min(0, 'expected 0 or more').optional(),
  n_gpu_layers: z.number().int().min(-1).default(-1),
  threads: z.number().int().min(0).default(0),
  /** Runner key; absent = the profile's, else by device. */
  binary: z.string().min(1).optional(),
  /** For hunting faults: another image than the runner's. */
  image_pin: z.string().min(1).optional(),
  runtime: z.enum(['process'], 'expected "process"').default('process'),
  /** Absent = the seed profile of the slot's type. */
  profile: z.string().regex(NAME_PATTERN, `expected ${NAME_RULE}`).optional(),
  /** The slot for its type when nothing else decides; one per type. */
  default: z.boolean().default(false),
  /** Absent = true when a model is bound. */
  autoload: z.boolean().optional(),
  /** Absent = true for `agent` and `utility`. */
  pinned: z.boolean().optional(),
  priority: z.number().int().min(0, 'expected 0 to 100').max(100, 'expected 0 to 100').default(50),
  idle_timeout_s: seconds,
  /** 0 = never. */
  unload_after_s: seconds,
  /** Requests at once that the user expects; the engine's own number decides. */
  parallel_hint: z.number().int().positive().optional(),
  output_sanity: oneOf(['strict', 'lenient', 'off']).optional(),
  admission: oneOf(['enforce', 'warn', 'off']).optional(),
  model: z.strictObject({ default: z.string().default('') }).prefault({}),
  tune: tuneSchema.prefault({}),
  server: z.strictObject({ env: z.record(z.string(), z.string()).default({}) }).prefault({}),
  npu: z.strictObject({ asr: z.boolean().default(false), embed: z.boolean().default(false) }).optional(),
  image: z
    .strictObject({
      default_size: z
        .string()
        .regex(/^\d+x\d+$/, 'expected WIDTHxHEIGHT, for example 1024x1024')
        .optional(),
      default_steps: z.number().int().positive().optional(),
    })
    .optional(),
  default_voice: text,
  default_speed: z.number().min(0.25).max(4).optional(),
  default_response_format: oneOf(['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm']).optional(),
  /** Retired: accepted, ignored, told once. */
  lru: z.boolean().optional(),
})
export type SlotConfig = z.output<typeof slotFileSchema>

/** Variables that would let a slot file take over what hal0 manages. Source: SPEC 3 "One gate". */
const DENIED_ENV = /^(LLAMA_ARG_.*|LLAMA_API_KEY|VLLM_API_KEY|HAL0_.*|LD_.*|PATH|NODE_OPTIONS)$/

export function slotsFolder(home: Home): string {
  return join(home.etc, 'slots')
}

export function slotFilePath(home: Home, name: string): string {
  return join(slotsFolder(home), `${name}.toml`)
}

/**
 * The slot files of a home, and the TOML files beside them whose name cannot be a slot's. Both sorted; what editors leave behind
 * (hidden files, `~`, `.swp`, `.bak`) is neither. Errors: `config.invalid` when the folder cannot be read; an absent one is empty.
 */
export async function listSlotFiles(
  home: Home,
): Promise<{ readonly names: readonly string[]; readonly unfit: readonly string[] }> {
  const folder = slotsFolder(home)
  const entries = await readdir(folder).catch((cause: unknown) => {
    if (errnoOf(cause) === 'ENOENT') return []
    throw configError([{ file: folder, keyPath: '', expected: `a readable folder (${messageOf(cause)})` }])
  })
  const files = entries.filter((entry) => !entry.startsWith('.') && /\.toml$/i.test(entry)).toSorted()
  const isFit = (file: string) => file.endsWith('.toml') && NAME_PATTERN.test(basename(file, '.toml'))
  return {
    names: files.filter(isFit).map((file) => basename(file, '.toml')),
    unfit: files.filter((file) => !isFit(file)),
  }
}

/**
 * The slot's file as it is now; undefined = there is none.
 * Errors: as `guardSlotWrite`; `config.invalid` when it cannot be read.
 */
export async function readSlotFile(home: Home, name: string): Promise<SlotConfig | undefined> {
  const path = slotFilePath(home, name)
  const text = await readConfigText(path)
  if (text === 'absent') return undefined
  if (!text.ok) throw configError([text.error])
  return guardSlotWrite(path, name, text.value)
}

/**
 * The one gate that every slot file passes, when it is read and before it is written (`writeSlotFile`). Source: SPEC 3 "One gate".
 * Errors: `config.invalid` (every mistake), `slot.llama_env_denied` (a variable that hal0 or the engine build owns).
 */
export function guardSlotWrite(path: string, name: string, text: string): SlotConfig {
  const parsed = parseToml(path, text, slotFileSchema)
  if (!parsed.ok) throw configError(parsed.error)
  if (parsed.value.name !== name) {
    throw configError([{ file: path, keyPath: 'name', expected: `expected "${name}", the name of the file` }])
  }
  const denied = Object.keys(parsed.value.server.env).filter((variable) => DENIED_ENV.test(variable))
  if (denied.length > 0) {
    throw Hal0Error.of('slot.llama_env_denied', `${path}: [server.env] may not set ${denied.join(', ')}`, {
      param: 'server.env',
      details: { file: path, variables: denied },
    })
  }
  return parsed.value
}
