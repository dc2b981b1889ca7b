import type { RouteStep } from '../../contract/route-explanation.ts'
import type { SlotType } from '../../contract/slot-row.ts'
import { shortText } from '../../kernel/short-text.ts'
import { createCommand } from './create-command.ts'
import {
  chooseFromChain,
  findByAlias,
  findByName,
  isActive,
  type RouteCandidate,
  SLOT_OF_TYPE,
  selectBound,
  selectForType,
} from './find-slot.ts'
import { rankOf } from './rank-slots.ts'
import type { RouteLanes } from './route-lanes.ts'

export interface RouteQuery {
  /** The name the client asked for; undefined or empty = none. */
  readonly model: string | undefined
  /** The type of slot that the path needs; see `InferenceRoute.needs`. */
  readonly needs: SlotType
  readonly rows: readonly RouteCandidate[]
  readonly unknownModel: 'agent' | 'reject'
  /** Ids of models.toml. */
  readonly registered: ReadonlySet<string>
  /** Loads registered models that no slot binds; '' = none does. It need not exist yet. */
  readonly onDemandSlot: string
  /** As the caller finds them; undefined = there are none. */
  readonly lanes?: RouteLanes | undefined
  /** The steps are wanted too; they cost something. Absent = no. */
  readonly explain?: boolean
}

/** `reason`: number and name of the step that decided, for the log. `steps`: every step that was looked at; empty unless `explain`. */
interface Walk {
  readonly reason: string
  readonly steps: readonly RouteStep[]
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
const NO_STEPS: readonly RouteStep[] = []

/**
 * Which slot answers a request for this name? Steps are numbered as in SPEC 11 "Resolution"; among several slots and lanes of one name the
 * caller's own lane is first. Source: SPEC 11, 14.
 */
export function resolveRoute(query: RouteQuery): RouteDecision {
  const { needs, rows, registered, lanes } = query
  // What a lane runs is for its timetable to say.
  const onDemandSlot = lanes?.standing(query.onDemandSlot) === undefined ? query.onDemandSlot : ''
  const model = query.model ?? ''
  const steps: RouteStep[] | undefined = query.explain === true ? [] : undefined

  // 1. A slot's own name or alias. Also without a model: then `acquire` says so, rather than another slot answering under its name.
  if (model !== '') {
    const named = findByName(model, rows)
    if (named !== undefined) return toSlot(named, '1 slot name', steps)
    const byAlias = findByAlias(model, rows)
    if (byAlias !== undefined) return toSlot(byAlias, `1 alias of ${byAlias.name}`, steps)
    const chained = model.startsWith(PREFIX)
      ? chooseFromChain(model.slice(PREFIX.length), needs, rows, lanes)
      : undefined
    if (chained !== undefined) return toSlot(chained, `1 chain ${shortened(model)}`, steps)
    pass(steps, '1 no slot and no alias has this name')

    // 2. Slots that have the model loaded. 3. Slots that are bound to it.
    const own = selectOwn(model, needs, rows, lanes)
    if (own !== undefined) return toSlot(own, '2 own lane', steps)
    const bound = selectBound(model, needs, rows, lanes)
    const isLoaded = bound !== undefined && rankOf(bound) === 0
    const type = findByName(onDemandSlot, rows)?.type ?? 'llm'
    const canLoad = registered.has(model) && onDemandSlot !== '' && type === needs
    const isClosed = bound !== undefined && lanes?.standing(bound.name) === 'closed'
    if (isClosed && canLoad) pass(steps, '2 only a lane that others have booked has this model')
    else if (!isLoaded) pass(steps, '2 no slot has this model loaded')
    if (bound !== undefined && !(isClosed && canLoad)) {
      const reason = isLoaded ? '2 has the model loaded' : '3 bound to the model'
      // What it has may be another model by the time it is leased.
      const isOnDemand = bound.name === onDemandSlot && registered.has(model)
      return isOnDemand ? toOnDemand(query, `${reason}, on demand`, steps) : toSlot(bound, reason, steps)
    }
    if (registered.has(model)) {
      if (canLoad) return toOnDemand(query, '3 registered, loaded on demand', steps)
      return { ...end('failed', '3 registered, no slot binds it', steps), ...unbound(model, needs) }
    }
    pass(steps, '3 no model of this name is registered')
  }

  // 4. No name, or a path that only one type of slot can answer.
  const standIn = selectForType(needs, rows, lanes)
  if (standIn !== undefined && model === '') return toSlot(standIn, '4 no model named', steps)
  if (standIn !== undefined && needs !== 'llm') return toSlot(standIn, `4 the slot for ${needs}`, steps, true)
  pass(steps, model === '' || needs !== 'llm' ? `4 no slot for ${needs} has a model` : '4 a model is named')

  // 5. A name nobody knows.
  if (model !== '' && query.unknownModel === 'reject' && rows.some(isActive)) {
    const message = `The model "${shortened(model)}" does not exist here`
    return { ...end('failed', '5 unknown name, rejected', steps), kind: 'error', code: 'model_not_found', message }
  }
  if (standIn !== undefined) return toSlot(standIn, '5 unknown name', steps, true)
  return { ...end('failed', '5 no target', steps), ...noRoute(model, needs, rows) }
}

/** The lane that the caller has booked with this model, whatever it runs at the moment; not where only another type of slot can answer. */
function selectOwn(model: string, needs: SlotType, rows: readonly RouteCandidate[], lanes: RouteLanes | undefined) {
  const name = lanes?.ownLaneFor(model)
  const row = name === undefined ? undefined : findByName(name, rows)
  return row?.type === needs ? row : undefined
}

function pass(steps: RouteStep[] | undefined, step: string): void {
  steps?.push(stepOf(step, 'passed'))
}

/** `step`: its number, a space, and what it found. */
function stepOf(step: string, outcome: RouteStep['outcome']): RouteStep {
  return { n: Number(step[0]), text: step.slice(2), outcome }
}

function end(outcome: RouteStep['outcome'], reason: string, steps: readonly RouteStep[] | undefined): Walk {
  return { reason, steps: steps === undefined ? NO_STEPS : [...steps, stepOf(reason, outcome)] }
}

function toSlot(row: RouteCandidate, reason: string, steps: RouteStep[] | undefined, fallback = false): RouteDecision {
  const walked = steps === undefined ? NO_STEPS : end('chosen', reason, steps).steps
  return { kind: 'slot', slot: row.name, fallback, reason, steps: walked }
}

function toOnDemand(query: RouteQuery, reason: string, steps: RouteStep[] | undefined): RouteDecision {
  return { ...end('chosen', reason, steps), kind: 'on_demand', slot: query.onDemandSlot, modelId: query.model ?? '' }
}

function unbound(model: string, needs: SlotType) {
  const name = shortened(model)
  const bind = needs === 'llm' ? `hal0 slot edit SLOT --model ${name}` : createCommand({ type: needs, model: name })
  return {
    kind: 'error',
    code: 'model_not_found',
    message: `The model "${name}" is registered, but no slot serves it: ${bind} binds it`,
    remedy: `Bind it to a slot: \`${bind}\`.`,
  } as const
}

function noRoute(model: string, needs: SlotType, rows: readonly RouteCandidate[]) {
  const asked = model === '' ? 'The request names no model' : `No slot serves the model "${shortened(model)}"`
  const seed = SLOT_OF_TYPE[needs]
  const unset = seed === undefined ? undefined : findByName(seed, rows)
  const command =
    unset === undefined
      ? createCommand({ type: needs, name: seed ?? 'NAME' })
      : `hal0 slot edit ${unset.name} --model MODEL`
  return {
    kind: 'error',
    code: 'dispatch.no_route',
    message:
      seed === undefined
        ? `${asked}, and no slot of type ${needs} has a model`
        : `${asked}, and the slot "${seed}" that would stand in has no model`,
    remedy: `${unset === undefined ? 'Make a slot' : 'Bind a model to a slot'} that answers here: \`${command}\`.`,
  } as const
}

/** Longer names help nobody in a message. */
const MAX_SHOWN_CHARS = 120

/** A client's text, fit to stand in a message. */
export function shortened(text: string): string {
  return shortText(text, MAX_SHOWN_CHARS)
}
