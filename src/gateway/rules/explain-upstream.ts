import type { RouteExplanation } from '../../contract/route-explanation.ts'
import { listNames } from '../../kernel/list-names.ts'
import { rankCandidates } from './explain-candidates.ts'
import { failed, laneFailure, startFailure } from './explain-failure.ts'
import { findByAlias, findByName, type RouteCandidate } from './find-slot.ts'
import type { RouteMatch } from './match-route.ts'
import { rankOf } from './rank-slots.ts'
import type { RouteLanes } from './route-lanes.ts'

export interface UpstreamQuery {
  /** As it is asked for, without its query. */
  readonly path: string
  /** What the request has as `model`; nobody looks at it here. */
  readonly model: string
  readonly match: Extract<RouteMatch, { kind: 'upstream' }>
  readonly rows: readonly RouteCandidate[]
  readonly problemOf: (slot: string) => string | null
  readonly lanes: RouteLanes | undefined
}

/** The path itself names the slot, and whatever is behind it is the engine's business. Source: SPEC 11. */
export function explainUpstream({ path, model, match, rows, problemOf, lanes }: UpstreamQuery): RouteExplanation {
  const byName = findByName(match.slot, rows)
  const row = byName ?? findByAlias(match.slot, rows)
  const asked = { model, path, route: null }
  if (row === undefined) {
    const known = listNames(rows.map(({ name }) => name)) || 'none'
    const message = `no slot ${JSON.stringify(match.slot)} (there are: ${known})`
    const error = failed('slot.not_found', message, 'Name one of them behind `/upstream/`.')
    const text = 'the path names a slot that is not there'
    return {
      ...asked,
      ...{ decision: 'error', slot: null, reason: `1 ${text}`, steps: [{ n: 1, text, outcome: 'failed' }] },
      ...{ candidates: [], would_load: false, error },
    }
  }
  const { name: slot } = row
  const engine = match.rest.split('?', 1)[0] ?? '/'
  const named = byName === undefined ? `the path names an alias of ${slot}` : 'the path names the slot'
  const text = `${named}; its engine is asked for ${engine}, as it is`
  const wish = { path, needs: row.type, model: '', chosen: slot, answers: () => true, problemOf, lanes }
  const standing = lanes?.standing(slot)
  return {
    ...asked,
    ...{ decision: 'slot', slot, reason: byName === undefined ? `1 alias of ${slot}` : '1 slot name' },
    steps: [{ n: 1, text, outcome: 'chosen' }],
    candidates: rankCandidates([row], wish),
    would_load: standing === undefined && rankOf(row) >= 2,
    error: (standing === undefined ? startFailure(row, problemOf(slot)) : laneFailure(row, standing)) ?? null,
  }
}
