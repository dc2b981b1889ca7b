import { DEFAULT_SLOT, type SlotRow } from '../../contract/slot-row.ts'

/** What resolution looks at of a slot. */
export type RouteCandidate = Pick<
  SlotRow,
  'name' | 'state' | 'idle_reason' | 'model_id' | 'device' | 'in_flight' | 'last_used_at'
>

export interface RouteQuery {
  /** The name the client asked for; undefined or empty = none. */
  readonly model: string | undefined
  readonly rows: readonly RouteCandidate[]
  readonly unknownModel: 'agent' | 'reject'
}

export type RouteDecision =
  | {
      readonly kind: 'slot'
      readonly slot: string
      /** Number and name of the step that decided, for the log. */
      readonly reason: string
      /** Step 5: the client is told by `X-Hal0-Route: fallback`. */
      readonly fallback: boolean
    }
  | {
      readonly kind: 'error'
      readonly code: 'model_not_found' | 'dispatch.no_route'
      readonly message: string
      readonly reason: string
    }

const PREFIX = 'hal0/'

/** 0 is best. `unloading` will be offline; idle without a model, and what is unknown, rank as error. Source: SPEC 4 "Selection". */
function rankOf({ state, idle_reason }: RouteCandidate): number {
  if (state === 'idle' && idle_reason === 'no_model') return 3
  if (state === 'ready' || state === 'serving' || state === 'idle') return 0
  if (state === 'warming' || state === 'starting' || state === 'pulling') return 1
  if (state === 'offline' || state === 'unloading') return 2
  return 3
}

/** Order among slots bound to one model: state rank, fewest in flight, most recently used, name. Source: SPEC 4. */
function compareCandidates(a: RouteCandidate, b: RouteCandidate): number {
  return (
    rankOf(a) - rankOf(b) ||
    a.in_flight - b.in_flight ||
    // ISO times in UTC compare as text; never used comes last.
    compareText(b.last_used_at ?? '', a.last_used_at ?? '') ||
    compareText(a.name, b.name)
  )
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Which slot answers a request for this name? Steps are numbered as in SPEC 11 "Resolution"; 2 comes with lanes. */
export function resolveRoute(query: RouteQuery): RouteDecision {
  const model = query.model ?? ''
  const active = query.rows.filter((row) => row.model_id !== null)

  // 1. A slot's own name. Also without a model: then `acquire` says so, rather than another slot answering under its name.
  const named = query.rows.find((row) => row.name === model)
  if (named !== undefined) return chosen(named.name, '1 slot name')
  if (model.startsWith(PREFIX)) {
    const target = chooseFromChain(model.slice(PREFIX.length), query.rows)
    if (target !== undefined) return chosen(target.name, `1 chain ${model}`)
  }

  // 3. Slots that are bound to the model.
  const [bound] = active.filter((row) => row.model_id === model).toSorted(compareCandidates)
  if (bound !== undefined) return chosen(bound.name, '3 bound to the model')

  const fallback = active.find((row) => row.name === DEFAULT_SLOT)
  // 4. No name.
  if (model === '' && fallback !== undefined) return chosen(fallback.name, '4 no model named')
  // 5. A name nobody knows.
  if (active.length > 0 && model !== '' && query.unknownModel === 'reject') {
    return {
      kind: 'error',
      code: 'model_not_found',
      message: `The model "${shortened(model)}" does not exist here`,
      reason: '5 unknown name, rejected',
    }
  }
  if (fallback !== undefined) return { ...chosen(fallback.name, '5 unknown name'), fallback: true }
  const asked = model === '' ? 'The request names no model' : `No slot serves the model "${shortened(model)}"`
  return {
    kind: 'error',
    code: 'dispatch.no_route',
    message: `${asked}, and the slot "${DEFAULT_SLOT}" that would stand in has no model`,
    reason: 'no target',
  }
}

/** The first of the chain that serves, else the first that has a model. Undefined = no such slot, or none with a model. */
function chooseFromChain(name: string, rows: readonly RouteCandidate[]): RouteCandidate | undefined {
  const byName = (wanted: string) => rows.find((row) => row.name === wanted)
  const npu = name === 'npu' ? (byName('npu') ?? rows.find((row) => row.device === 'npu')) : undefined
  const first = npu ?? byName(name)
  if (first === undefined && name !== 'utility' && name !== 'npu') return undefined
  const chain = [first, ...(name === 'npu' ? [byName('utility')] : []), byName(DEFAULT_SLOT)]
  const active = chain.filter((row) => row !== undefined && row.model_id !== null)
  return active.find((row) => row !== undefined && rankOf(row) === 0) ?? active[0]
}

function chosen(slot: string, reason: string) {
  return { kind: 'slot', slot, reason, fallback: false } as const
}

/** A client's text, fit to stand in a message. */
export function shortened(text: string): string {
  return text.length > 120 ? `${text.slice(0, 120)}…` : text
}
