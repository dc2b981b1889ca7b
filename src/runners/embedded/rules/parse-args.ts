import { err, ok, type Result } from '../../../kernel/result.ts'

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
  /** Tokens decoded in one step; 0 = the library's default. */
  readonly batchTokens: number
}

/** llama.cpp's own limit of sequences. */
const MAX_PARALLEL = 256

interface Flag {
  readonly names: readonly string[]
  readonly kind: 'text' | 'whole' | 'switch'
  readonly about: string
}

/** The flags of llama-server that this engine knows; a switch listed here may have no effect of its own, `about` says so. */
const FLAGS = {
  model: { names: ['--model', '-m'], kind: 'text', about: 'path of the GGUF file (required)' },
  host: { names: ['--host'], kind: 'text', about: 'address to listen on (127.0.0.1)' },
  port: { names: ['--port'], kind: 'whole', about: 'port to listen on (8080)' },
  alias: { names: ['--alias', '-a'], kind: 'text', about: 'name of the model in answers (the path)' },
  ctx: { names: ['--ctx-size', '-c'], kind: 'whole', about: "tokens one request may use; 0 = the model's own window" },
  ngl: {
    names: ['--n-gpu-layers', '--gpu-layers', '-ngl'],
    kind: 'whole',
    about: 'accepted; this build has no GPU code',
  },
  threads: {
    names: ['--threads', '-t'],
    kind: 'whole',
    about: 'threads; 0 or less = chosen from cores and model size',
  },
  parallel: { names: ['--parallel', '-np'], kind: 'whole', about: 'requests at once; 0 or less = up to 4, by memory' },
  batch: { names: ['--batch-size', '-b'], kind: 'whole', about: 'tokens decoded in one step' },
  ubatch: { names: ['--ubatch-size', '-ub'], kind: 'whole', about: 'accepted; follows --batch-size' },
  metrics: { names: ['--metrics'], kind: 'switch', about: 'accepted; /metrics is always there' },
  embedding: {
    names: ['--embedding', '--embeddings'],
    kind: 'switch',
    about: 'accepted; /v1/embeddings is always there',
  },
  jinja: { names: ['--jinja'], kind: 'switch', about: "accepted; the model's Jinja template is always used" },
  help: { names: ['--help', '-h'], kind: 'switch', about: 'print this and exit' },
} as const satisfies Record<string, Flag>

type FlagKey = keyof typeof FLAGS

/** The text of `--help`, one flag a line. */
export function helpText(): string {
  const lines = Object.values(FLAGS).map((flag: Flag) => {
    const value = flag.kind === 'text' ? ' TEXT' : flag.kind === 'whole' ? ' N' : ''
    return `  ${`${flag.names.join(', ')}${value}`.padEnd(42)} ${flag.about}`
  })
  return `hal0 embedded engine: llama.cpp in a process of its own, speaking llama-server's dialect.\n\n${lines.join('\n')}\n`
}

function findFlag(name: string): FlagKey | undefined {
  for (const [key, flag] of Object.entries(FLAGS)) {
    if ((flag.names as readonly string[]).includes(name)) return key as FlagKey
  }
  return undefined
}

/**
 * Reads the command line (without program and script). `--flag value` and `--flag=value`; the last of a repeated flag wins.
 * The error is one line for a person. Source: SPEC 9, 10.
 */
export function parseArgs(argv: readonly string[]): Result<EngineOptions | 'help', string> {
  const texts = new Map<FlagKey, string>()
  const numbers = new Map<FlagKey, number>()
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? ''
    const equals = word.startsWith('--') ? word.indexOf('=') : -1
    const name = equals === -1 ? word : word.slice(0, equals)
    const key = findFlag(name)
    if (key === undefined) return err(`unknown argument "${name}"; run with --help for the list`)
    const flag: Flag = FLAGS[key]
    if (flag.kind === 'switch') {
      if (equals !== -1) return err(`${name} takes no value`)
      if (key === 'help') return ok('help')
      continue
    }
    const value = equals === -1 ? argv[++at] : word.slice(equals + 1)
    if (value === undefined || value === '') return err(`${name} needs a value`)
    if (flag.kind === 'text') texts.set(key, value)
    else if (/^-?\d{1,9}$/.test(value)) numbers.set(key, Number(value))
    else return err(`${name} needs a whole number, not "${value}"`)
  }
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
    batchTokens: Math.max(0, numbers.get('batch') ?? 0),
  })
}
