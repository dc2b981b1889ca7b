import { err, ok, type Result } from '../../../kernel/result.ts'
import { type FlagKey, findFlag, flagOf } from './flags.ts'
import { DEFAULT_SAMPLING, drawnSeed, type GenerationDefaults } from './generation-settings.ts'
import { isObject, type JsonObject } from './read-fields.ts'

/** What the embedded engine was asked to run. */
export interface EngineOptions {
  /** Path of a GGUF file; of a split model the first shard. */
  readonly modelPath: string
  readonly host: string
  readonly port: number
  /** The name `/v1/models` and answers carry. */
  readonly alias: string
  /** Window of one request in tokens; 0 = the model's own. */
  readonly ctxTokens: number
  /** 0 = chosen from the cores and the model's size. */
  readonly threads: number
  /** Requests decoded at once; 0 = as many as memory allows, at most four. */
  readonly parallel: number
  /** `parallel` is the most that is wanted, not a demand: each request here has a window of its own, which costs memory. */
  readonly isParallelLimit: boolean
  /** Tokens decoded in one step; 0 = the library's default. */
  readonly batchTokens: number
  /** Of requests that do not say. */
  readonly defaults: GenerationDefaults
  /** Path of a Jinja file; undefined = the model's own template. */
  readonly templateFile: string | undefined
  /** What the template knows besides the conversation; a request's own win. */
  readonly templateVariables: JsonObject
}

/** llama.cpp's own limit of sequences. */
const MAX_PARALLEL = 256

interface Values {
  readonly texts: Map<FlagKey, string>
  readonly numbers: Map<FlagKey, number>
  readonly objects: Map<FlagKey, JsonObject>
  readonly switches: Set<FlagKey>
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Takes one value in; the error is one line. */
function take(values: Values, key: FlagKey, name: string, value: string): string | undefined {
  const { kind, range, choices } = flagOf(key)
  if (kind === 'json') {
    const object = parseObject(value)
    if (object === undefined) return `${name} needs a JSON object, not "${value}"`
    values.objects.set(key, object)
    return undefined
  }
  if (kind === 'text') {
    if (choices?.includes(value) === false) return `${name} must be ${choices.join(', ')}, not "${value}"`
    values.texts.set(key, value)
    return undefined
  }
  if (kind === 'whole' && !/^-?\d{1,10}$/.test(value)) return `${name} needs a whole number, not "${value}"`
  if (kind === 'number' && !/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,2})?$/i.test(value)) {
    return `${name} needs a number, not "${value}"`
  }
  const number = Number(value)
  if (range !== undefined && (number < range[0] || number > range[1])) {
    return `${name} must be between ${range[0]} and ${range[1]}, not ${value}`
  }
  values.numbers.set(key, number)
  return undefined
}

function readWords(argv: readonly string[]): Result<Values | 'help' | 'version', string> {
  const values: Values = { texts: new Map(), numbers: new Map(), objects: new Map(), switches: new Set() }
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? ''
    const equals = word.startsWith('--') ? word.indexOf('=') : -1
    const name = equals === -1 ? word : word.slice(0, equals)
    const key = findFlag(name)
    if (key === undefined) return err(`unknown argument "${name}"; run with --help for the list`)
    if (flagOf(key).kind === 'switch') {
      if (equals !== -1) return err(`${name} takes no value`)
      if (key === 'help' || key === 'version') return ok(key)
      values.switches.add(key)
      if (key === 'split') values.switches.delete('unified')
      continue
    }
    const value = equals === -1 ? argv[++at] : word.slice(equals + 1)
    if (value === undefined || value === '') return err(`${name} needs a value`)
    const mistake = take(values, key, name, value)
    if (mistake !== undefined) return err(mistake)
  }
  return ok(values)
}

function readDefaults({ numbers }: Values): GenerationDefaults {
  const d = DEFAULT_SAMPLING
  return {
    sampling: {
      temperature: numbers.get('temperature') ?? d.temperature,
      topK: Math.max(0, numbers.get('topK') ?? d.topK),
      topP: numbers.get('topP') ?? d.topP,
      minP: numbers.get('minP') ?? d.minP,
      seed: drawnSeed(numbers.get('seed') ?? -1),
      repeatPenalty: numbers.get('repeatPenalty') ?? d.repeatPenalty,
      repeatLastTokens: numbers.get('repeatLast') ?? d.repeatLastTokens,
      presencePenalty: numbers.get('presencePenalty') ?? d.presencePenalty,
      frequencyPenalty: numbers.get('frequencyPenalty') ?? d.frequencyPenalty,
    },
    maxTokens: Math.max(-1, numbers.get('predict') ?? -1),
  }
}

function readVariables({ texts, objects }: Values): JsonObject {
  const reasoning = texts.get('reasoning') ?? 'auto'
  return {
    ...(reasoning === 'auto' ? {} : { enable_thinking: reasoning === 'on' }),
    ...objects.get('templateVariables'),
  }
}

/**
 * Reads the command line (without program and script). `--flag value` and `--flag=value`; the last of a repeated flag wins.
 * The error is one line for a person. Source: SPEC 9, 10.
 */
export function parseArgs(argv: readonly string[]): Result<EngineOptions | 'help' | 'version', string> {
  const read = readWords(argv)
  if (!read.ok) return read
  const values = read.value
  if (values === 'help' || values === 'version') return ok(values)
  const { texts, numbers } = values
  const modelPath = texts.get('model')
  if (modelPath === undefined) return err('--model is missing: which GGUF file should be run?')
  const port = numbers.get('port') ?? 8080
  if (port < 0 || port > 65_535) return err(`--port must be between 0 and 65535, not ${port}`)
  const ctxTokens = numbers.get('ctx') ?? 0
  if (ctxTokens < 0) return err(`--ctx-size must be 0 or more, not ${ctxTokens}`)
  const parallel = Math.max(0, numbers.get('parallel') ?? 0)
  if (parallel > MAX_PARALLEL) return err(`--parallel must be at most ${MAX_PARALLEL}, not ${parallel}`)
  return ok({
    modelPath,
    host: texts.get('host') ?? '127.0.0.1',
    port,
    alias: texts.get('alias') ?? modelPath,
    ctxTokens,
    threads: Math.max(0, numbers.get('threads') ?? 0),
    parallel,
    isParallelLimit: values.switches.has('unified'),
    batchTokens: Math.max(0, numbers.get('batch') ?? 0),
    defaults: readDefaults(values),
    templateFile: texts.get('templateFile'),
    templateVariables: readVariables(values),
  })
}
