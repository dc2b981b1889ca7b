import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { z } from 'zod'
import { deviceSchema, SLOT_NAME_PATTERN } from '../contract/slot-row.ts'
import type { Home } from '../files/home.ts'
import { Hal0Error, messageOf } from '../kernel/errors.ts'
import { configError } from './mistake.ts'
import { isNotFound, parseToml } from './toml-file.ts'

/** `etc/hal0/slots/<name>.toml`: the keys that have an effect today. Source: SPEC 3 "slot". */
export const slotFileSchema = z.strictObject({
  name: z.string().regex(SLOT_NAME_PATTERN, 'expected 1 to 32 of a-z 0-9 _ -, starting with a letter or digit'),
  /** Absent = the lowest free port of `[slots] port_range`, kept. */
  port: z.number().int().min(1).max(65_535).optional(),
  type: z.enum(['llm'], 'expected "llm"').default('llm'),
  device: deviceSchema.default('cpu'),
  /** Runner key; absent = by device. */
  binary: z.string().min(1).optional(),
  runtime: z.enum(['process'], 'expected "process"').default('process'),
  n_gpu_layers: z.number().int().min(-1).default(-1),
  threads: z.number().int().min(0).default(0),
  /** Absent = true when a model is bound. */
  autoload: z.boolean().optional(),
  model: z.strictObject({ default: z.string().default('') }).prefault({}),
  server: z.strictObject({ env: z.record(z.string(), z.string()).default({}) }).prefault({}),
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

/** Names that have a file, sorted; editor leftovers are not files of ours. */
export async function listSlotNames(home: Home): Promise<readonly string[]> {
  const entries = await readdir(slotsFolder(home)).catch(() => [])
  return entries
    .filter((entry) => entry.endsWith('.toml'))
    .map((entry) => basename(entry, '.toml'))
    .filter((name) => SLOT_NAME_PATTERN.test(name))
    .toSorted()
}

/**
 * The slot's file as it is now; undefined = there is none.
 * Errors: as `parseSlotText`; `config.invalid` when it cannot be read.
 */
export async function readSlotFile(home: Home, name: string): Promise<SlotConfig | undefined> {
  const path = slotFilePath(home, name)
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (cause) {
    if (isNotFound(cause)) return undefined
    throw configError([{ file: path, keyPath: '', expected: `a readable file (${messageOf(cause)})` }])
  }
  return parseSlotText(path, name, text)
}

/**
 * The one check that every slot file passes, when it is read and before it is written. Source: SPEC 3 "One gate".
 * Errors: `config.invalid` (every mistake), `slot.llama_env_denied` (a variable that hal0 or the engine build owns).
 */
export function parseSlotText(path: string, name: string, text: string): SlotConfig {
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

/** The runner a slot uses when it names none. Source: SPEC 3, 10. */
export function runnerKeyOf(config: SlotConfig): string {
  if (config.binary !== undefined) return config.binary
  switch (config.device) {
    case 'cpu':
      return 'embedded'
    case 'gpu-cuda':
      return 'cuda'
    case 'gpu-rocm':
    case 'gpu-vulkan':
      return 'standard'
    case 'npu':
      return 'flm'
  }
}

export function isAutoloaded(config: SlotConfig): boolean {
  return config.autoload ?? config.model.default !== ''
}
