import { Hal0Error } from '../../kernel/errors.ts'
import { configError } from '../toml/mistake.ts'
import { mergePatch } from '../toml/rules/merge-patch.ts'
import { isTable, type Table } from '../toml/rules/table.ts'
import { parseTomlData } from '../toml/toml-file.ts'
import { findKeyFindings, inspectSlot, type SlotFinding } from './rules/inspect-slot.ts'
import type { SlotConfig } from './rules/slot-schema.ts'
import { findUnknownDeletions, withoutEmptied } from './rules/unset-keys.ts'

/** Who brings a slot to the gate. `disk`: the file as a person left it; all others want to write. */
export type SlotSource = 'disk' | 'api' | 'cli' | 'seed' | 'stack' | 'import'

/** What a slot is looked at for. */
export interface SlotWriteContext {
  /** The path of its file. */
  readonly file: string
  /** The name of its file. */
  readonly name: string
  readonly source: SlotSource
}

/**
 * A slot that has passed the gate. Nothing else can make one: the constructor is private and the fields are, so that what is not
 * guarded does not reach `writeSlotFile`, at compile time and at run time. Source: SPEC 3 "One gate".
 */
export class GuardedSlot {
  readonly #context: SlotWriteContext
  readonly #payload: Table
  readonly #config: SlotConfig
  readonly #text: string | undefined

  private constructor(context: SlotWriteContext, payload: Table, config: SlotConfig, text: string | undefined) {
    this.#context = context
    this.#payload = payload
    this.#config = config
    this.#text = text
  }

  /** The gate itself: see `guardSlotWrite`. `text`: the very text that `payload` was read from. */
  static admit(payload: Table, context: SlotWriteContext, text?: string): GuardedSlot {
    // A copy: what the caller does to the object later is not guarded.
    const own = structuredClone(payload)
    const inspection = inspectSlot(own, context.name)
    if (!inspection.ok) throw refusal(inspection.findings, context)
    return new GuardedSlot(context, own, inspection.config, text)
  }

  get name(): string {
    return this.#context.name
  }

  /** The path that it was guarded for. */
  get file(): string {
    return this.#context.file
  }

  /** The keys of the file, as they were said. */
  get payload(): Table {
    return this.#payload
  }

  /** What they mean: defaults filled in. */
  get config(): SlotConfig {
    return this.#config
  }

  /** The text to write as it is; undefined = hal0 writes the payload, and keeps the comments of the file that is there. */
  get text(): string | undefined {
    return this.#text
  }
}

/**
 * The one gate that every slot passes, as data, before any merge: a new slot, or the whole of one. A null stands for an absent key.
 * Errors: `slot.tuning_key_denied` (from disk: `slot.unconverted`), `slot.llama_env_denied`, `slot.config_error` ([tune] where it has no
 * effect), `validation.invalid` (from disk: `config.invalid`). The message and `details.mistakes` tell every finding, the code is that
 * of the gravest. Source: SPEC 3 "One gate".
 */
export function guardSlotWrite(payload: unknown, context: SlotWriteContext): GuardedSlot {
  return GuardedSlot.admit(mergePatch({}, requireTable(payload, context)), context)
}

/** As `guardSlotWrite`, on the text of a file; what is written later is this text, comments included. */
export function guardSlotText(text: string, context: SlotWriteContext): GuardedSlot {
  const data = parseTomlData(context.file, text)
  if (data.ok) return GuardedSlot.admit(data.value, context, text)
  if (context.source === 'disk') throw configError([data.error])
  throw Hal0Error.of('validation.invalid', `${data.error.keyPath}: ${data.error.expected}`, {
    details: { mistakes: [{ key: data.error.keyPath, message: data.error.expected }] },
  })
}

/**
 * A change of a slot: first the patch passes, on its own, then what comes of it. `current`: the keys of the file as they are, right or
 * wrong, so that a patch can mend a file. What is wrong in the outcome and not named by the patch was in the file before, and is told
 * as such (`slot.unconverted`, `config.invalid`). A null for a key that neither the file has nor a slot may have is a slip of the hand. Errors: as `guardSlotWrite`.
 */
export function guardSlotPatch(current: Table, patch: unknown, context: SlotWriteContext): GuardedSlot {
  const asked = requireTable(patch, context)
  const slips = findUnknownDeletions(current, asked).map(
    ({ path, expected }): SlotFinding => ({ kind: 'schema', path, key: path.join('.'), message: expected }),
  )
  const own = [...findKeyFindings(asked, { isPatch: true }), ...slips]
  const merged = withoutEmptied(mergePatch(current, asked), asked)
  const inspection = inspectSlot(merged, context.name)
  const whole = inspection.ok ? [] : inspection.findings
  const byPatch = whole.filter(({ path, kind }) => kind !== 'tuning' && isNamedBy(asked, path))
  const [first, ...others] = [...own, ...byPatch.filter(({ key }) => !own.some((one) => one.key === key))]
  if (first !== undefined) throw refusal([first, ...others], context)
  if (!inspection.ok) throw refusal(inspection.findings, { ...context, source: 'disk' })
  return GuardedSlot.admit(merged, context)
}

function requireTable(payload: unknown, context: SlotWriteContext): Table {
  if (isTable(payload)) return payload
  const message = 'expected an object with the keys of a slot file'
  throw Hal0Error.of('validation.invalid', `slot ${context.name}: ${message}`, {
    details: { mistakes: [{ key: '', message }] },
  })
}

/** Does the patch set this key, something above it or something below it? Tables are looked into. */
function isNamedBy(patch: Table, path: readonly string[]): boolean {
  let node: unknown = patch
  for (const key of path) {
    if (!isTable(node)) return true
    if (!Object.hasOwn(node, key)) return false
    node = node[key]
  }
  return true
}

const GRAVITY = ['tuning', 'env', 'tune', 'schema'] as const

function refusal(findings: readonly [SlotFinding, ...SlotFinding[]], context: SlotWriteContext): Hal0Error {
  const isFile = context.source === 'disk'
  const sorted = findings.toSorted((one, other) => GRAVITY.indexOf(one.kind) - GRAVITY.indexOf(other.kind))
  const gravest = sorted[0] ?? findings[0]
  const code = codeOf(gravest.kind, context.source)
  const place = isFile ? context.file : `slot ${context.name}`
  const message = findings.map(({ key, message: text }) => (text.startsWith(key) ? text : `${key}: ${text}`)).join('; ')
  const tuning = findings.filter(({ kind }) => kind === 'tuning')
  return Hal0Error.of(code, `${place}: ${message}`, {
    param: gravest.key,
    details: {
      ...(isFile ? { file: context.file } : {}),
      ...(tuning.length > 0 ? { keys: tuning.map(({ key }) => key) } : {}),
      mistakes: findings.map((one) => ({
        key: one.key,
        message: one.message,
        code: codeOf(one.kind, context.source),
        ...(one.owner === undefined ? {} : { owner: one.owner }),
      })),
      ...(code === 'slot.unconverted' ? { remedy: REMEDY_UNCONVERTED } : {}),
    },
  })
}

const REMEDY_UNCONVERTED =
  'Run `hal0 config migrate`: it moves these keys to a profile of the slot and keeps a backup of the file.'

/** The code of a finding of this kind, from a file or from a writer. */
export function codeOf(kind: SlotFinding['kind'], source: SlotSource) {
  switch (kind) {
    case 'tuning':
      return source === 'disk' ? 'slot.unconverted' : 'slot.tuning_key_denied'
    case 'env':
      return 'slot.llama_env_denied'
    case 'tune':
      return 'slot.config_error'
    case 'schema':
      return source === 'disk' ? 'config.invalid' : 'validation.invalid'
  }
}
