import { missingProgramIn } from '../../contract/missing-program.ts'
import type { RouteExplanation } from '../../contract/route-explanation.ts'
import type { SlotType } from '../../contract/slot-row.ts'
import { isActive, type RouteCandidate } from './find-slot.ts'
import { compareCandidates, rankOf } from './rank-slots.ts'
import { placeOf, type RouteLanes } from './route-lanes.ts'

/** What the slots are looked at for. */
export interface CandidateWish {
  readonly path: string
  readonly needs: SlotType
  /** '' = the request names none. */
  readonly model: string
  readonly chosen: string | undefined
  /** May it be asked on this path at all? */
  readonly answers: (row: RouteCandidate) => boolean
  /** Why a start of it would fail, as far as its files say; null = it would not. */
  readonly problemOf: (slot: string) => string | null
  /** As the caller finds them; undefined = there are none. */
  readonly lanes?: RouteLanes | undefined
}

const AVAILABLE = ['serves now', 'a load is under way', 'needs a load', 'cannot serve as it is'] as const
/** No request loads a lane, and none waits for it. */
const LANE_AVAILABLE = [
  'serves now',
  'a load is under way, which no request waits for',
  'runs nothing, and no request loads it',
  'cannot serve as it is',
] as const
const STANDING = { own: 'your lane', open: 'a lane', closed: 'a lane that others have booked' } as const

/** Every slot with what speaks for it and against it: the chosen one, then those that would do, the soonest first. Source: SPEC 11 `explain`. */
export function rankCandidates(rows: readonly RouteCandidate[], wish: CandidateWish): RouteExplanation['candidates'] {
  const { lanes } = wish
  const order = (row: RouteCandidate): number => (row.name === wish.chosen ? 0 : fits(row, wish) ? 1 : 2)
  return rows
    .toSorted((a, b) => order(a) - order(b) || placeOf(a, lanes) - placeOf(b, lanes) || compareCandidates(a, b))
    .map((row) => ({
      slot: row.name,
      state: row.state,
      type: row.type,
      model_id: row.model_id,
      in_flight: row.in_flight,
      reason: [...tellFit(row, wish), ...tellAbility(row, wish)].join(', '),
    }))
}

function fits(row: RouteCandidate, { needs, model }: CandidateWish): boolean {
  return isActive(row) && row.type === needs && (model === '' || row.model_id === model)
}

function tellFit(row: RouteCandidate, { needs, model, chosen, lanes }: CandidateWish): readonly string[] {
  const says: string[] = []
  if (row.name === chosen) says.push('chosen')
  const standing = lanes?.standing(row.name)
  if (standing !== undefined) says.push(STANDING[standing])
  if (lanes?.isFallback(row.name) === true) says.push('its default stands in for what was booked')
  if (!isActive(row)) says.push('has no model')
  else if (model !== '' && row.model_id === model) says.push('bound to the model')
  if (row.type !== needs) says.push(`of type ${row.type}, not ${needs}`)
  if (row.default) says.push(`the default for ${row.type}`)
  return says
}

/** A slot that is up and does not have the route does not serve; what a start would fail for says more than that it needs one. */
function tellAbility(row: RouteCandidate, { path, answers, problemOf, lanes }: CandidateWish): readonly string[] {
  const standing = lanes?.standing(row.name)
  const says = answers(row) ? [] : [`cannot answer ${path}`]
  const rank = rankOf(row)
  const problem = rank >= 2 ? problemOf(row.name) : null
  const program = missingProgramIn(problem)
  if (program !== undefined) says.push(`needs a program: ${program}`)
  else if (problem !== null) says.push('a start would fail')
  else if (says.length === 0 && standing !== undefined)
    says.push(...(standing === 'closed' ? [] : [LANE_AVAILABLE[rank]]))
  else if (says.length === 0 && isActive(row)) says.push(AVAILABLE[rank])
  return says
}
