import { type Command, Option } from 'commander'
import { DEFAULT_PRIORITY, DEVICES, SLOT_TYPES } from '../contract/slot-row.ts'
import { MAX_CTX_TOKENS, MIN_CTX_TOKENS, REASONING_EFFORTS, SPECULATION_MODES, VISION_MODES } from '../contract/tune.ts'
import { emptyPayload, type Payload, putAt, splitPair, typedValue } from './keyed-values.ts'
import { collect, MAX_PORT, numberOrNothing, onOff } from './option-parsers.ts'

const ANY = Number.MAX_SAFE_INTEGER

/** The keys of a slot as options of `slot create` and `slot edit`. "" and null clear a key. */
export interface SlotKeyOptions {
  readonly model?: string
  readonly profile?: string
  readonly device?: string
  readonly binary?: string
  readonly type?: string
  readonly port?: number | null
  readonly gpuIndex?: number | null
  readonly ngl?: number | null
  readonly threads?: number | null
  readonly ctxSize?: number | null
  readonly vision?: string
  readonly speculation?: string
  readonly thinking?: boolean | null
  readonly effort?: string
  readonly budget?: number | null
  readonly autoload?: boolean
  readonly pinned?: boolean
  readonly priority?: number | null
  readonly alias?: readonly string[]
  readonly env?: readonly string[]
  readonly set?: readonly string[]
  readonly unset?: readonly string[]
}

/** Which key of the slot's file does an option set? Source: SPEC 3. */
const KEYS: readonly (readonly [keyof SlotKeyOptions, string])[] = [
  ['model', 'model.default'],
  ['profile', 'profile'],
  ['device', 'device'],
  ['binary', 'binary'],
  ['type', 'type'],
  ['port', 'port'],
  ['gpuIndex', 'gpu_index'],
  ['ngl', 'n_gpu_layers'],
  ['threads', 'threads'],
  ['ctxSize', 'tune.ctx_size'],
  ['vision', 'tune.vision'],
  ['speculation', 'tune.speculation'],
  ['thinking', 'tune.enable_thinking'],
  ['effort', 'tune.reasoning_effort'],
  ['budget', 'tune.reasoning_budget'],
  ['autoload', 'autoload'],
  ['pinned', 'pinned'],
  ['priority', 'priority'],
]

/** Adds the options of `SlotKeyOptions`, but `--unset`. */
export function addSlotKeyOptions(command: Command): Command {
  const number = (flags: string, text: string, low: number, high: number) =>
    command.addOption(new Option(flags, text).argParser(numberOrNothing(low, high)))
  command.option('--model <id>', 'the model it runs (`hal0 model list`)')
  command.option('--profile <name>', 'the tune it runs with (`hal0 profile list`; default: the one of its type)')
  command.option('--device <device>', DEVICES.join(', '))
  command.option('--binary <runner>', 'the engine build (`hal0 runner list`; default: by device)')
  command.option('--type <type>', `${SLOT_TYPES.join(', ')} (default: llm)`)
  number('--port <n>', 'loopback port of the engine (default: a free one, kept)', 1, MAX_PORT)
  number('--gpu-index <n>', 'the one GPU it uses', 0, ANY)
  number('--ngl <n>', 'layers on the GPU; -1 = all that fit', -1, ANY)
  number('--threads <n>', 'threads on the CPU; 0 = the engine decides', 0, ANY)
  number('--ctx-size <tokens>', 'context window, instead of the profile’s', MIN_CTX_TOKENS, MAX_CTX_TOKENS)
  command.option('--vision <mode>', `${VISION_MODES.join(', ')}, instead of the profile’s`)
  command.option('--speculation <mode>', `${SPECULATION_MODES.join(', ')}, instead of the profile’s`)
  command.addOption(new Option('--thinking <on|off>', 'whether it thinks before it answers').argParser(onOff))
  command.option('--effort <level>', `how hard it thinks: ${REASONING_EFFORTS.join(', ')}`)
  number('--budget <tokens>', 'most tokens to think with; -1 = no limit', -1, ANY)
  command.option('--autoload', 'load it when the daemon starts')
  command.option('--pinned', 'never unload it to make room')
  number('--priority <n>', `0–100, the lowest makes room first (default: ${DEFAULT_PRIORITY})`, 0, 100)
  command.option('--alias <name>', 'a further name for requests; may be given several times', collect)
  command.option('--env <KEY=VALUE>', 'a variable of the engine; may be given several times', collect)
  command.option('--set <key=value>', 'any other key of the slot file, for example idle_timeout_s=600', collect)
  return command
}

/** What the options say, as keys of a slot file; null = delete the key. Errors: UsageError. */
export function slotPayloadOf(options: SlotKeyOptions): Payload {
  const payload = emptyPayload()
  for (const [option, key] of KEYS) {
    const value = options[option]
    if (value !== undefined) putAt(payload, key, value === '' ? null : value)
  }
  if (options.alias !== undefined)
    putAt(
      payload,
      'aliases',
      options.alias.filter((alias) => alias !== ''),
    )
  for (const text of options.env ?? []) {
    const [name, value] = splitPair('--env', text)
    // Not a path: the name of a variable may hold dots.
    putInTable(payload, name, value)
  }
  for (const text of options.set ?? []) {
    const [key, value] = splitPair('--set', text)
    putAt(payload, key, typedValue(value))
  }
  for (const key of options.unset ?? []) putAt(payload, key, null)
  return payload
}

function putInTable(payload: Payload, name: string, value: string): void {
  const before = payload['server']
  const env = typeof before === 'object' && before !== null && 'env' in before ? before.env : undefined
  putAt(payload, 'server.env', Object.assign(emptyPayload(), env, { [name]: value }))
}

/** The same without keys that are null: a new file has nothing to delete. */
export function withoutNulls(payload: Payload): Payload {
  const kept = emptyPayload()
  for (const [key, value] of Object.entries(payload)) {
    if (value === null) continue
    const inner = typeof value === 'object' && !Array.isArray(value) ? withoutNulls({ ...value }) : value
    if (typeof inner === 'object' && !Array.isArray(inner) && Object.keys(inner ?? {}).length === 0) continue
    kept[key] = inner
  }
  return kept
}
