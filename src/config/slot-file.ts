import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { z } from 'zod'
import { deviceSchema, SLOT_NAME_PATTERN } from '../contract/slot-row.ts'
import type { Home } from '../files/home.ts'
import { errnoOf, Hal0Error, messageOf } from '../kernel/errors.ts'
import { readConfigText } from './config-text.ts'
import { configError } from './mistake.ts'
import { parseToml } from './toml-file.ts'

/** What a slot's name, and so its file, may look like: in words, for messages. */
export const SLOT_NAME_RULE = '1 to 32 of a-z 0-9 _ -, starting with a letter or digit'

/** `etc/hal0/slots/<name>.toml`: the keys that have an effect today. Source: SPEC 3 "slot". */
export const slotFileSchema = z.strictObject({
  name: z.string().regex(SLOT_NAME_PATTERN, `expected ${SLOT_NAME_RULE}`),
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
  const isFit = (file: string) => file.endsWith('.toml') && SLOT_NAME_PATTERN.test(basename(file, '.toml'))
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
