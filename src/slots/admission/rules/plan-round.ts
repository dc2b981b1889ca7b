import { type Asker, type Decision, decideAdmission } from './decide-admission.ts'
import { fits, type MemorySnapshot } from './memory-limits.ts'
import { memoriesOf, touchedPools } from './memory-map.ts'

/** What one of those who wait is to do now. */
export type Move =
  /** Its own decision counts. */
  | { readonly kind: 'act'; readonly asker: Asker; readonly decision: Decision }
  /** Memory that a stop has freed is not back yet: it waits for that, and asks nobody else to go. */
  | { readonly kind: 'release'; readonly asker: Asker; readonly decision: Decision }
  /** Others that ask for the same memory come first. */
  | { readonly kind: 'behind'; readonly asker: Asker; readonly decision: Decision; readonly ahead: readonly string[] }

/**
 * Who may do what now? `askers` in the order of their turns. Whoever can never have its memory acts at once. The others act in turn: one that
 * comes later acts only if nobody before it is short of the same memory, or if it fits right now, and if the plans of all before it still
 * come out when it has its memory. `releasing`: pools that wait for memory to come back. Source: SPEC 7 "Pre-load admission".
 */
export function planRound(
  snapshot: MemorySnapshot,
  askers: readonly Asker[],
  releasing: ReadonlySet<string> = new Set(),
): readonly Move[] {
  const moves: Move[] = []
  for (const asker of askers) {
    const decision = decideAdmission(snapshot, asker)
    const blockers = moves.filter(
      (move) => move.decision.kind !== 'insufficient' && isInTheWay(snapshot, move, { asker, decision }, moves),
    )
    if (isReleasing(snapshot, { asker, decision }, releasing) && blockers.length === 0)
      moves.push({ kind: 'release', asker, decision })
    else if (decision.kind === 'insufficient') moves.push({ kind: 'act', asker, decision })
    else if (blockers.length > 0) {
      moves.push({ kind: 'behind', asker, decision, ahead: blockers.map((move) => move.asker.slot) })
    } else moves.push({ kind: 'act', asker, decision })
  }
  return moves
}

interface Ask {
  readonly asker: Asker
  readonly decision: Decision
}

/** Who fits waits until memory is back, and nobody else has to go for what is about to come back. */
function isReleasing(snapshot: MemorySnapshot, { asker, decision }: Ask, releasing: ReadonlySet<string>): boolean {
  if (isFree(decision)) return touchedPools(snapshot.pools, asker).some((id) => releasing.has(id))
  return overlaps(decision.short, memoriesOf(snapshot.pools, releasing))
}

function isFree({ kind }: Decision): boolean {
  return kind === 'admit' || kind === 'skip'
}

function isInTheWay(snapshot: MemorySnapshot, before: Move, me: Ask, moves: readonly Move[]): boolean {
  if (before.asker.rivals.has(me.asker.slot) || me.asker.rivals.has(before.asker.slot)) return true
  if (!isFree(me.decision) && overlaps(before.decision.short, me.decision.short)) return true
  // Nobody plans with a slot that somebody before it counts on.
  if (me.decision.plan.some((slot) => before.decision.plan.includes(slot) && !isFree(me.decision))) return true
  if (!overlaps(memoriesAt(snapshot, before.asker), memoriesAt(snapshot, me.asker))) return false
  if (!isChecked(before) || !isChecked(me)) return false
  // Together with everybody who comes before: does each plan still come out?
  const all: readonly Ask[] = [...moves.filter((move) => move.decision.kind !== 'insufficient'), me]
  const gone = new Set(all.flatMap(({ decision }) => decision.plan))
  return [before, me].some(
    ({ asker }) =>
      !fits(snapshot, asker, {
        gone,
        promises: 'seen',
        plus: all.filter((ask) => ask.asker !== asker).map((ask) => ask.asker),
      }),
  )
}

function isChecked({ decision }: Ask): boolean {
  return decision.kind !== 'skip'
}

function memoriesAt({ pools }: MemorySnapshot, asker: Asker): ReadonlySet<string> {
  return memoriesOf(pools, touchedPools(pools, asker))
}

function overlaps(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return [...a].some((memory) => b.has(memory))
}
