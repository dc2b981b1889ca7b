import { TUNE_KEYS } from '../../../contract/tune.ts'
import { isTable, type Table } from '../../toml/rules/table.ts'

/** Who owns a key that a slot may not carry. `tune` = a slot may, under `[tune]`. Source: SPEC 3. */
export type TuningOwner = 'tune' | 'profile' | 'model'

/**
 * Where what a key says is written when its file is converted: a key of a profile or of the model's row, one flag of a profile, several of
 * them, or what only its value decides.
 */
export type Destination =
  | { readonly kind: 'profile'; readonly key: string }
  | { readonly kind: 'model'; readonly key: string }
  | { readonly kind: 'flag'; readonly flag: string }
  | { readonly kind: 'flags' }
  | { readonly kind: 'mtp' }

/** A tuning key where it may not be. */
export interface TuningKey {
  readonly path: readonly string[]
  /** Dotted, for messages. */
  readonly key: string
  readonly owner: TuningOwner
  /** One sentence: the owner, and how it is set there. */
  readonly advice: string
  readonly to: Destination
}

type Ruling = Pick<TuningKey, 'owner' | 'advice' | 'to'>

const onTune = (key: string, option: string): Ruling => ({
  owner: 'tune',
  advice: `the profile owns it (\`hal0 profile edit PROFILE ${option}\`), and a slot overrides it as ${key} under [tune] (\`hal0 slot edit SLOT ${option}\`)`,
  to: { kind: 'profile', key },
})
const onProfile = (flag: string, value: string): Ruling => ({
  ...asFlags(`${flag} ${value}`),
  to: { kind: 'flag', flag },
})
const asFlags = (words: string): Ruling => ({
  owner: 'profile',
  advice: `the profile owns it, as a flag (\`hal0 profile create NAME --flags "${words}"\`, then \`hal0 slot edit SLOT --profile NAME\`)`,
  to: { kind: 'flags' },
})
const onModel = (key: string): Ruling => ({
  owner: 'model',
  advice: `the model owns it: ${key} under [models.<id>] in models.toml (\`hal0 model show ID\`)`,
  to: { kind: 'model', key },
})

const CTX = onTune('ctx_size', '--ctx-size N')
const THINKING = onTune('enable_thinking', '--thinking on|off')

/** Every key that people know as a tuning key, where it belongs. A slot's own keys are not among them. */
const RULINGS: ReadonlyMap<string, Ruling> = new Map([
  ['ctx_size', CTX],
  ['context_size', CTX],
  ['context_length', CTX],
  ['n_ctx', CTX],
  ['max_model_len', CTX],
  ['enable_thinking', THINKING],
  ['thinking', THINKING],
  ['reasoning_effort', onTune('reasoning_effort', '--effort LEVEL')],
  ['reasoning_budget', onTune('reasoning_budget', '--set tune.reasoning_budget=N')],
  ['vision', onTune('vision', '--vision auto|off')],
  ['speculation', onTune('speculation', '--speculation auto|off|ngram')],
  [
    'mtp',
    {
      owner: 'model',
      advice:
        'whether the file has such heads is a fact of the model (mtp under [models.<id>] in models.toml); whether to use them is speculation, on the profile or under [tune] (`hal0 slot edit SLOT --speculation auto|off`)',
      to: { kind: 'mtp' },
    },
  ],
  ['parallel', onProfile('--parallel', 'N')],
  ['n_parallel', onProfile('--parallel', 'N')],
  ['workers', onProfile('--parallel', 'N')],
  ['extra_args', asFlags('…')],
  ['extra_flags', asFlags('…')],
  ['args', asFlags('…')],
  ['flags', asFlags('…')],
  ['batch_size', onProfile('--batch-size', 'N')],
  ['ubatch_size', onProfile('--ubatch-size', 'N')],
  ['flash_attn', onProfile('--flash-attn', 'on')],
  ['cache_type_k', onProfile('--cache-type-k', 'q8_0')],
  ['cache_type_v', onProfile('--cache-type-v', 'q8_0')],
  ['temp', onProfile('--temp', 'N')],
  ['temperature', onProfile('--temp', 'N')],
  ['top_k', onProfile('--top-k', 'N')],
  ['top_p', onProfile('--top-p', 'N')],
  ['min_p', onProfile('--min-p', 'N')],
  ['chat_template', onModel('chat_template')],
  ['chat_template_file', onModel('chat_template')],
  ['mmproj', onModel('mmproj')],
  ['drafter', onModel('drafter')],
  ['draft_model', onModel('drafter')],
  ['jinja', onModel('jinja')],
  ['native_ctx', onModel('native_ctx')],
  ['architecture', onModel('architecture')],
  ['quant', onModel('quant')],
  ['size_bytes', onModel('size_bytes')],
  ['path', onModel('path')],
  ['files', onModel('files')],
  ['preferred_profile', onModel('preferred_profile')],
])

const TUNE_KEY_SET: ReadonlySet<string> = new Set(TUNE_KEYS)
/** The contents of an environment are names of the user's. */
const FREE_TABLES: ReadonlySet<string> = new Set(['server.env'])

/**
 * Which tuning keys stand outside `[tune]`, in the order of the payload? With `deletable`, a key whose value is null is passed over: a
 * patch may always remove one. Source: SPEC 3 "One gate".
 */
export function findTuningKeys(payload: Table, options: { readonly deletable: boolean }): readonly TuningKey[] {
  return inTable(payload, [], options.deletable)
}

function inTable(table: Table, path: readonly string[], isDeletable: boolean): readonly TuningKey[] {
  return Object.entries(table).flatMap(([name, value]) => {
    const at = [...path, name]
    const key = at.join('.')
    const ruling = RULINGS.get(spelling(name))
    const isInPlace = path.length === 1 && path[0] === 'tune' && TUNE_KEY_SET.has(name)
    if (ruling !== undefined && !isInPlace) {
      return value === null && isDeletable ? [] : [{ path: at, key, ...ruling }]
    }
    return isTable(value) && !FREE_TABLES.has(key) ? inTable(value, at, isDeletable) : []
  })
}

/** The name that a key is meant as: `ctx-size` and `ctxSize` are `ctx_size`. */
export function spelling(name: string): string {
  return name
    .replaceAll('-', '_')
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
}
