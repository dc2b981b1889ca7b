import { BUILT_IN_ALIASES } from '../../config/rules/names.ts'
import { DEFAULT_SLOT, type SlotRow, type SlotType } from '../../contract/slot-row.ts'
import { isSelfManagedRunner } from '../../runners/rules/service-keys.ts'
import { compareCandidates, type RankedSlot, rankOf } from './rank-slots.ts'
import { firstForCaller, placeOf, type RouteLanes } from './route-lanes.ts'

/** What resolution looks at of a slot. */
export interface RouteCandidate
  extends RankedSlot,
    Pick<SlotRow, 'type' | 'default' | 'model_id' | 'device' | 'runner'> {
  readonly aliases: readonly string[]
}

type Candidates = readonly RouteCandidate[]

/** The seed slot of each type: what stands in where no slot is its type's default. Source: SPEC 11 "Resolution" 4. */
export const SLOT_OF_TYPE: Readonly<Record<SlotType, string | undefined>> = {
  llm: DEFAULT_SLOT,
  embedding: 'embed',
  reranking: 'rerank',
  tts: 'tts',
  image: 'img',
  transcription: undefined,
}

/** Has it something to answer with: a model, or one that its engine brings? */
export function isActive({ model_id, runner }: Pick<RouteCandidate, 'model_id' | 'runner'>): boolean {
  return model_id !== null || isSelfManagedRunner(runner)
}

/** The slot of this very name; undefined = none. */
export function findByName(name: string, rows: Candidates): RouteCandidate | undefined {
  for (const row of rows) if (row.name === name) return row
  return undefined
}

/** The slot that has this further name, in its file or built in; undefined = none. */
export function findByAlias(alias: string, rows: Candidates): RouteCandidate | undefined {
  for (const row of rows) if (row.aliases.includes(alias)) return row
  const builtIn = BUILT_IN_ALIASES.get(alias)
  return builtIn === undefined ? undefined : findByName(builtIn, rows)
}

function findSlot(name: string, rows: Candidates): RouteCandidate | undefined {
  return findByName(name, rows) ?? findByAlias(name, rows)
}

/**
 * The best of the slots and lanes that are bound to the model; one of another type than the path needs only where there is no other.
 * Source: SPEC 4 "Selection", 14 "Among the candidates".
 */
export function selectBound(
  model: string,
  needs: SlotType,
  rows: Candidates,
  lanes?: RouteLanes,
): RouteCandidate | undefined {
  let best: RouteCandidate | undefined
  for (const row of rows) {
    if (row.model_id !== model) continue
    if (best === undefined) best = row
    else if ((row.type === needs) !== (best.type === needs)) best = row.type === needs ? row : best
    else if (compareForCaller(row, best, lanes) < 0) best = row
  }
  return best
}

function compareForCaller(a: RouteCandidate, b: RouteCandidate, lanes: RouteLanes | undefined): number {
  const places = lanes === undefined ? 0 : placeOf(a, lanes) - placeOf(b, lanes)
  return places || compareCandidates(a, b)
}

/**
 * The slot that answers for its type when nothing else decides; undefined = none that has a model. For chat it is `agent` before the
 * default of the type, and never just any: a person who chats should know with whom.
 */
export function selectForType(needs: SlotType, rows: Candidates, lanes?: RouteLanes): RouteCandidate | undefined {
  const fit = rows.filter((row) => row.type === needs && isActive(row))
  const byDefault = fit.find((row) => row.default)
  // `agent` answers whatever its file says of its type.
  const inTurn =
    needs === 'llm'
      ? [rows.find((row) => row.name === DEFAULT_SLOT && isActive(row)), byDefault]
      : [byDefault, fit.find((row) => row.name === SLOT_OF_TYPE[needs]), ...fit]
  return firstForCaller(inTurn, lanes)
}

/**
 * `hal0/<name>`: the first of the chain that serves, else the first that has a model; lanes that cannot serve this caller come last. Undefined = no
 * such slot, or none with a model. Who only stands in has to be of the type that the path needs: a cold slot for embeddings is loaded, rather
 * than `agent` asked for them.
 * Source: SPEC 11 "Resolution" 1.
 */
export function chooseFromChain(
  name: string,
  needs: SlotType,
  rows: Candidates,
  lanes?: RouteLanes,
): RouteCandidate | undefined {
  const isNpu = name === 'npu'
  const first =
    findSlot(name, rows) ?? (isNpu ? rows.find((row) => row.device === 'npu' && row.type === 'llm') : undefined)
  if (first === undefined && name !== 'utility' && !isNpu) return undefined
  const standIns = [isNpu ? findSlot('utility', rows) : undefined, findByName(DEFAULT_SLOT, rows)]
  const chain = [first, ...standIns.filter((row) => needs === 'llm' || row?.type === needs)]
  const active = chain.filter((row) => row !== undefined && isActive(row))
  const best = firstForCaller(active, lanes)
  if (best === undefined || rankOf(best) === 0) return best
  const place = placeOf(best, lanes)
  return active.find((row) => row !== undefined && rankOf(row) === 0 && placeOf(row, lanes) === place) ?? best
}
