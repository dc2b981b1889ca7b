import { BUILT_IN_ALIASES } from '../../config/rules/names.ts'
import { DEFAULT_SLOT, type SlotRow, type SlotType } from '../../contract/slot-row.ts'
import { shortText } from '../../kernel/short-text.ts'
import { isSelfManagedRunner } from '../../runners/rules/service-keys.ts'
import { compareCandidates, rankOf } from './rank-slots.ts'

/** What resolution looks at of a slot. */
export type RouteCandidate = Pick<
  SlotRow,
  | 'name'
  | 'aliases'
  | 'type'
  | 'default'
  | 'state'
  | 'idle_reason'
  | 'model_id'
  | 'device'
  | 'runner'
  | 'in_flight'
  | 'last_used_at'
>

export interface RouteQuery {
  /** The name the client asked for; undefined or empty = none. */
  readonly model: string | undefined
  /** The type of slot that the path needs; see `slotTypeFor`. */
  readonly needs: SlotType
  readonly rows: readonly RouteCandidate[]
  readonly unknownModel: 'agent' | 'reject'
  /** Ids of models.toml. */
  readonly registered: ReadonlySet<string>
  /** Loads registered models that no slot binds; '' = none does. It need not exist yet. */
  readonly onDemandSlot: string
}

/** `reason`: number and name of the step that decided, for the log. `steps`: every step that was looked at, with what it found. */
interface Walk {
  readonly reason: string
  readonly steps: readonly string[]
}

export type RouteDecision = Walk &
  (
    | {
        readonly kind: 'slot'
        readonly slot: string
        /** Nobody knows the name: the client is told by `X-Hal0-Route: fallback`. */
        readonly fallback: boolean
      }
    /** The slot has to have this model when it is leased. */
    | { readonly kind: 'on_demand'; readonly slot: string; readonly modelId: string }
    | {
        readonly kind: 'error'
        readonly code: 'model_not_found' | 'dispatch.no_route'
        readonly message: string
        /** Where it is more exact than the registry's. */
        readonly remedy?: string
      }
  )

const PREFIX = 'hal0/'
/** The seed slot of each type: what stands in where no slot is its type's default. Source: SPEC 11 "Resolution" 4. */
const SLOT_OF_TYPE: Readonly<Record<SlotType, string | undefined>> = {
  llm: DEFAULT_SLOT,
  embedding: 'embed',
  reranking: 'rerank',
  tts: 'tts',
  image: 'img',
  transcription: undefined,
}

/** Which slot answers a request for this name? Steps are numbered as in SPEC 11 "Resolution". */
export function resolveRoute(query: RouteQuery): RouteDecision {
  const { needs, rows, registered, onDemandSlot } = query
  const model = query.model ?? ''
  const steps: string[] = []
  const pass = (step: string): void => void steps.push(step)
  const walk = (reason: string): Walk => ({ reason, steps: [...steps, reason] })
  const to = (row: RouteCandidate, reason: string, fallback = false): RouteDecision => ({
    ...walk(reason),
    kind: 'slot',
    slot: row.name,
    fallback,
  })
  const onDemand = (reason: string): RouteDecision => ({
    ...walk(reason),
    kind: 'on_demand',
    slot: onDemandSlot,
    modelId: model,
  })

  // 1. A slot's own name or alias. Also without a model: then `acquire` says so, rather than another slot answering under its name.
  const named = model === '' ? undefined : findSlot(model, rows)
  if (named !== undefined) return to(named, named.name === model ? '1 slot name' : `1 alias of ${named.name}`)
  if (model.startsWith(PREFIX)) {
    const target = chooseFromChain(model.slice(PREFIX.length), rows)
    if (target !== undefined) return to(target, `1 chain ${shortened(model)}`)
  }
  if (model !== '') {
    pass('1 no slot and no alias has this name')

    // 2. Slots that have the model loaded. 3. Slots that are bound to it.
    const bound = selectBound(model, needs, rows)
    const isLoaded = bound !== undefined && rankOf(bound) === 0
    if (!isLoaded) pass('2 no slot has this model loaded')
    if (bound !== undefined) {
      const reason = isLoaded ? '2 has the model loaded' : '3 bound to the model'
      // What it has may be another model by the time it is leased.
      const isOnDemand = bound.name === onDemandSlot && registered.has(model)
      return isOnDemand ? onDemand(`${reason}, on demand`) : to(bound, reason)
    }
    if (registered.has(model)) {
      const type = rows.find((row) => row.name === onDemandSlot)?.type ?? 'llm'
      if (onDemandSlot !== '' && type === needs) return onDemand('3 registered, loaded on demand')
      return { ...walk('3 registered, no slot binds it'), ...unbound(model) }
    }
    pass('3 no model of this name is registered')
  }

  // 4. No name, or a path that only one type of slot can answer.
  const standIn = selectForType(needs, rows)
  if (standIn !== undefined && model === '') return to(standIn, '4 no model named')
  if (standIn !== undefined && needs !== 'llm') return to(standIn, `4 the slot for ${needs}`, true)
  pass(model === '' ? `4 no slot for ${needs} has a model` : '4 a model is named')

  // 5. A name nobody knows.
  if (model !== '' && query.unknownModel === 'reject' && rows.some(isActive)) {
    const message = `The model "${shortened(model)}" does not exist here`
    return { ...walk('5 unknown name, rejected'), kind: 'error', code: 'model_not_found', message }
  }
  if (standIn !== undefined) return to(standIn, '5 unknown name', true)
  const asked = model === '' ? 'The request names no model' : `No slot serves the model "${shortened(model)}"`
  const seed = SLOT_OF_TYPE[needs]
  const message =
    seed === undefined
      ? `${asked}, and no slot of type ${needs} has a model`
      : `${asked}, and the slot "${seed}" that would stand in has no model`
  return { ...walk('no target'), kind: 'error', code: 'dispatch.no_route', message }
}

function unbound(model: string) {
  return {
    kind: 'error',
    code: 'model_not_found',
    message: `The model "${shortened(model)}" is registered, but no slot serves it: hal0 slot edit SLOT --model ${shortened(model)} binds it`,
    remedy: `Bind it to a slot: \`hal0 slot edit SLOT --model ${shortened(model)}\`.`,
  } as const
}

/** Has it something to answer with: a model, or one that its engine brings? */
function isActive(row: RouteCandidate): boolean {
  return row.model_id !== null || isSelfManagedRunner(row.runner)
}

function findSlot(name: string, rows: readonly RouteCandidate[]): RouteCandidate | undefined {
  const builtIn = BUILT_IN_ALIASES.get(name)
  return (
    rows.find((row) => row.name === name) ??
    rows.find((row) => row.aliases.includes(name)) ??
    rows.find((row) => row.name === builtIn)
  )
}

/** The best of the slots that are bound to the model; one of another type than the path needs only where there is no other. */
function selectBound(model: string, needs: SlotType, rows: readonly RouteCandidate[]): RouteCandidate | undefined {
  const bound = rows.filter((row) => row.model_id === model).toSorted(compareCandidates)
  return bound.find((row) => row.type === needs) ?? bound[0]
}

/**
 * The slot that answers for its type when nothing else decides; undefined = none that has a model. For chat it is `agent` before the
 * default of the type, and never just any: a person who chats should know with whom.
 */
function selectForType(needs: SlotType, rows: readonly RouteCandidate[]): RouteCandidate | undefined {
  const fit = rows.filter((row) => row.type === needs && isActive(row))
  const byDefault = fit.find((row) => row.default)
  // `agent` answers whatever its file says of its type.
  if (needs === 'llm') return rows.find((row) => row.name === DEFAULT_SLOT && isActive(row)) ?? byDefault
  return byDefault ?? fit.find((row) => row.name === SLOT_OF_TYPE[needs]) ?? fit[0]
}

/** The first of the chain that serves, else the first that has a model. Undefined = no such slot, or none with a model. */
function chooseFromChain(name: string, rows: readonly RouteCandidate[]): RouteCandidate | undefined {
  const npu =
    name === 'npu'
      ? (findSlot('npu', rows) ?? rows.find((row) => row.device === 'npu' && row.type === 'llm'))
      : undefined
  const first = npu ?? findSlot(name, rows)
  if (first === undefined && name !== 'utility' && name !== 'npu') return undefined
  const chain = [first, ...(name === 'npu' ? [findSlot('utility', rows)] : []), findSlot(DEFAULT_SLOT, rows)]
  const active = chain.filter((row) => row !== undefined && isActive(row))
  return active.find((row) => row !== undefined && rankOf(row) === 0) ?? active[0]
}

/** Longer names help nobody in a message. */
const MAX_SHOWN_CHARS = 120

/** A client's text, fit to stand in a message. */
export function shortened(text: string): string {
  return shortText(text, MAX_SHOWN_CHARS)
}
