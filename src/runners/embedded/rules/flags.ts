interface Flag {
  readonly names: readonly string[]
  /** `number`: with a fraction; `json`: an object. */
  readonly kind: 'text' | 'whole' | 'number' | 'json' | 'switch'
  /** Lowest and highest value, both allowed. */
  readonly range?: readonly [number, number]
  /** The values that are allowed. */
  readonly choices?: readonly string[]
  readonly about: string
}

/** The flags of llama-server that this engine knows; a switch listed here may have no effect of its own, `about` says so. */
export const FLAGS = {
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
  unified: {
    names: ['--kv-unified', '-kvu'],
    kind: 'switch',
    about: '--parallel is a limit then: fewer at once where memory is short',
  },
  split: {
    names: ['--no-kv-unified', '-no-kvu'],
    kind: 'switch',
    about: '--parallel is meant as it stands (the default)',
  },
  batch: { names: ['--batch-size', '-b'], kind: 'whole', about: 'tokens decoded in one step' },
  ubatch: { names: ['--ubatch-size', '-ub'], kind: 'whole', about: 'accepted; follows --batch-size' },
  metrics: { names: ['--metrics'], kind: 'switch', about: 'accepted; /metrics is always there' },
  embedding: {
    names: ['--embedding', '--embeddings'],
    kind: 'switch',
    about: 'accepted; /v1/embeddings is always there',
  },
  jinja: { names: ['--jinja'], kind: 'switch', about: 'accepted; a Jinja template is always used' },
  templateFile: {
    names: ['--chat-template-file'],
    kind: 'text',
    about: "file with a Jinja template, instead of the model's own",
  },
  templateVariables: {
    names: ['--chat-template-kwargs'],
    kind: 'json',
    about: 'variables of the template, a JSON object; those of a request win',
  },
  reasoning: {
    names: ['--reasoning', '-rea'],
    kind: 'text',
    choices: ['on', 'off', 'auto'],
    about: 'sets enable_thinking for the template; auto = it decides',
  },
  predict: { names: ['--n-predict', '--predict', '-n'], kind: 'whole', about: 'tokens of an answer; -1 = no limit' },
  temperature: { names: ['--temp', '--temperature'], kind: 'number', about: 'default temperature (0.8)' },
  topK: { names: ['--top-k'], kind: 'whole', about: 'default top_k; 0 = off (40)' },
  topP: { names: ['--top-p'], kind: 'number', range: [0, 1], about: 'default top_p; 1 = off (0.95)' },
  minP: { names: ['--min-p'], kind: 'number', range: [0, 1], about: 'default min_p; 0 = off (0.05)' },
  seed: { names: ['--seed', '-s'], kind: 'whole', about: 'default seed; -1 = drawn for each request' },
  repeatPenalty: {
    names: ['--repeat-penalty'],
    kind: 'number',
    range: [0.01, 100],
    about: 'default repeat_penalty; 1 = off',
  },
  repeatLast: { names: ['--repeat-last-n'], kind: 'whole', about: 'tokens the penalties look back; -1 = all (64)' },
  presencePenalty: {
    names: ['--presence-penalty'],
    kind: 'number',
    range: [-2, 2],
    about: 'default presence_penalty; 0 = off',
  },
  frequencyPenalty: {
    names: ['--frequency-penalty'],
    kind: 'number',
    range: [-2, 2],
    about: 'default frequency_penalty; 0 = off',
  },
  help: { names: ['--help', '-h'], kind: 'switch', about: 'print this and exit' },
  version: { names: ['--version'], kind: 'switch', about: 'print the version and exit' },
} as const satisfies Record<string, Flag>

export type FlagKey = keyof typeof FLAGS

/** The flag of a key, without the literal types of its row. */
export function flagOf(key: FlagKey): Flag {
  return FLAGS[key]
}

/** Which flag is meant by this spelling? */
export function findFlag(name: string): FlagKey | undefined {
  for (const [key, flag] of Object.entries(FLAGS)) {
    if ((flag.names as readonly string[]).includes(name)) return key as FlagKey
  }
  return undefined
}

const PLACEHOLDERS: Readonly<Record<Flag['kind'], string>> = {
  text: ' TEXT',
  whole: ' N',
  number: ' X',
  json: ' JSON',
  switch: '',
}
const ABOUT_COLUMN = 44

/** The text of `--help`, one flag a line, as parse-help.ts reads it. */
export function helpText(): string {
  const lines = Object.values(FLAGS).map((flag: Flag) => {
    const value = flag.choices === undefined ? PLACEHOLDERS[flag.kind] : ` {${flag.choices.join(',')}}`
    return `  ${`${flag.names.join(', ')}${value}`.padEnd(ABOUT_COLUMN)}  ${flag.about}`
  })
  return `hal0 embedded engine: llama.cpp in a process of its own, speaking llama-server's dialect.\n\n${lines.join('\n')}\n`
}
