import { findByName, type RouteCandidate, SLOT_OF_TYPE } from './find-slot.ts'
import { type RouteDecision, type RouteQuery, resolveRoute } from './resolve-route.ts'
import { firstForCaller } from './route-lanes.ts'

/** Where a request for images goes, or what its client hears. */
export type ImageRoute =
  | Exclude<RouteDecision, { kind: 'error' }>
  | (Extract<RouteDecision, { kind: 'error' }> & { readonly code: 'model_not_found' })
  | ({ readonly kind: 'no_image_slot'; readonly message: string } & Pick<RouteDecision, 'reason' | 'steps'>)
  /** The name leads to `named`, which cannot paint: the error is `unsupportedError`. */
  | ({ readonly kind: 'wrong_type'; readonly named: RouteCandidate } & Pick<RouteDecision, 'reason' | 'steps'>)

/**
 * Which slot paints? As any request that only one type of slot can answer; but an image slot without a model is one too, since
 * ComfyUI has checkpoints of its own, and a slot of another type is not loaded only to hear that it cannot. Source: SPEC 11, 20 `gpu.img_slot_missing`.
 */
export function chooseImageSlot(query: Omit<RouteQuery, 'needs'>): ImageRoute {
  const { rows, model } = query
  const decision = resolveRoute({ ...query, needs: 'image' })
  if (decision.kind === 'error') {
    const { code, reason } = decision
    if (code === 'model_not_found') return { ...decision, code }
    const bare = selectBare(query)
    if (bare !== undefined) {
      const text = 'the slot for image, with checkpoints of its own'
      const isUnknown = model !== undefined && model !== ''
      // What failed there for want of a model does not fail here.
      const passed = decision.steps.filter(({ n }) => n < 4)
      const steps = query.explain === true ? [...passed, { n: 4, text, outcome: 'chosen' } as const] : []
      return { kind: 'slot', slot: bare.name, fallback: isUnknown, reason: `4 ${text}`, steps }
    }
    return { kind: 'no_image_slot', reason, steps: decision.steps, message: 'No slot here is of type image' }
  }
  const named = findByName(decision.slot, rows)
  if (named === undefined || named.type === 'image') return decision
  return { kind: 'wrong_type', reason: decision.reason, steps: decision.steps, named }
}

function selectBare({ rows, lanes }: Pick<RouteQuery, 'rows' | 'lanes'>): RouteCandidate | undefined {
  const fit = rows.filter((row) => row.type === 'image')
  const inTurn = [fit.find((row) => row.default), fit.find((row) => row.name === SLOT_OF_TYPE.image), ...fit]
  return firstForCaller(inTurn, lanes)
}
