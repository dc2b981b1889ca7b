import { balanceFor, balancesOf, fits, footprintBytes, type Holder, type MemorySnapshot } from './memory-limits.ts'
import { memoriesOf, type Placed, touchedPools } from './memory-map.ts'
import { canGiveWay, compareForEviction, orderCandidates, selectVictims } from './select-victims.ts'
import { describeShort, findShortage, type Shortage } from './shortage.ts'

/** Who asks for memory. */
export interface Asker extends Placed {
  readonly mode: 'enforce' | 'warn' | 'off'
  /** Slots that must not run beside it, whatever memory says. */
  readonly rivals: ReadonlySet<string>
  /** Slots that make way for it already. */
  readonly claimed: ReadonlySet<string>
}

/** A slot that has to go. `bytes` it holds, undefined = not known. */
export interface Victim {
  readonly slot: string
  readonly cause: 'preload' | 'group'
  readonly bytes: number | undefined
}

/** What every decision carries besides. `short`: the memories that are short now (`host`, `gpu0` …). `plan`: all that have to go. */
interface Plan {
  readonly reason: string
  readonly short: ReadonlySet<string>
  readonly plan: readonly string[]
}

export type Decision =
  | (Plan & { readonly kind: 'admit' })
  /** Admitted without a check, or against it: `isWarning` = it was found to be short. */
  | (Plan & { readonly kind: 'skip'; readonly isWarning: boolean })
  /** These are quiet: they can go now. */
  | (Plan & { readonly kind: 'evict'; readonly victims: readonly Victim[] })
  /** These are busy, or load: they are asked to make way. */
  | (Plan & { readonly kind: 'wait'; readonly victims: readonly Victim[] })
  /** What is missing comes back without being asked: slots that stop, loads that will be measured. */
  | (Plan & { readonly kind: 'hold'; readonly waitsFor: readonly string[] })
  | (Plan & { readonly kind: 'insufficient'; readonly shortage: Shortage })

/**
 * May this load start? 1. Members of its groups go first; a pinned one is in the way for good. 2. Off, or nothing known: no check.
 * 3. It fits. 4. It fits once some are gone: those that stop, quiet ones, busy ones, loading ones, as few as possible. 5. The same with
 * quiet ones whose size is not known. 6. It fits once running loads are measured (also before 4, when nobody has to go for it). 7. Never. Source: SPEC 7 "Pre-load admission".
 */
export function decideAdmission(snapshot: MemorySnapshot, asker: Asker): Decision {
  const others = snapshot.holders.filter((holder) => holder.slot !== asker.slot)
  const rivals = others.filter((holder) => asker.rivals.has(holder.slot))
  const fixed = rivals.filter((rival) => !canGiveWay(rival))
  if (fixed.length > 0) return blockedByGroup(snapshot, asker, fixed)
  const first = new Set(rivals.map((rival) => rival.slot))
  const found = balanceFor(snapshot, asker)
  if (asker.mode === 'off') return goAfter(snapshot, asker, rivals, { unchecked: 'admission is off' })
  if (found.kind === 'unknown') return goAfter(snapshot, asker, rivals, { unchecked: found.reason })
  const short = found.balances.filter(({ missingBytes }) => missingBytes > 0)
  if (short.length === 0) return goAfter(snapshot, asker, rivals, {})
  const shortMemories = memoriesOf(
    snapshot.pools,
    short.flatMap(({ limit }) => limit.ids),
  )
  const candidates = orderCandidates(
    others.filter((holder) => !first.has(holder.slot)),
    asker.claimed,
  )
  const known = candidates.filter((holder) => footprintBytes(snapshot, holder) !== undefined)
  const isEnough = (gone: ReadonlySet<string>) =>
    fits(snapshot, asker, { gone: new Set([...first, ...gone]), promises: 'seen' })
  const chosen = selectVictims(known, isEnough)
  if (asker.mode === 'warn') return goAfter(snapshot, asker, rivals, { warning: describeShort(short) })
  const why = { reason: describeShort(short), short: shortMemories }
  const needed = [...rivals, ...(chosen ?? [])]
  // Only the count of running loads is in the way, which counts twice what they have taken already.
  if (chosen !== undefined && needed.length === 0) return holdForLoads(snapshot, why)
  if (chosen !== undefined) return goAfter(snapshot, asker, needed, why)
  return withoutKnownVictims(snapshot, asker, { rivals, candidates, why })
}

interface Rest {
  readonly rivals: readonly Holder[]
  readonly candidates: readonly Holder[]
  readonly why: { readonly reason: string; readonly short: ReadonlySet<string> }
}

function withoutKnownVictims(snapshot: MemorySnapshot, asker: Asker, { rivals, candidates, why }: Rest): Decision {
  const all = new Set([...rivals, ...candidates].map((holder) => holder.slot))
  // As if running loads had taken all of what they were promised: what was measured shows it then, and it counts once.
  const isCurable = fits(snapshot, asker, { gone: all, promises: 'taken' })
  const isHopeless = balancesOf(snapshot, asker).some(
    ({ limit, neededBytes }) => limit.totalBytes !== undefined && neededBytes > limit.totalBytes,
  )
  const unknown = candidates.find(
    (holder) => footprintBytes(snapshot, holder) === undefined && sharesMemory(snapshot, asker, holder),
  )
  if (!isHopeless && unknown !== undefined) {
    const reason = `${why.reason}; what ${unknown.slot} holds is not known, so it is freed and measured`
    return goAfter(snapshot, asker, [...rivals, unknown], { ...why, reason })
  }
  if (!isHopeless && isCurable && snapshot.promises.length > 0) return holdForLoads(snapshot, why)
  const shortage = findShortage(snapshot, asker, all)
  return { kind: 'insufficient', shortage, reason: shortage.text, short: why.short, plan: [] }
}

function holdForLoads(snapshot: MemorySnapshot, why: Rest['why']): Decision {
  const waitsFor = snapshot.promises.map((promise) => promise.slot)
  return {
    kind: 'hold',
    waitsFor,
    reason: `${why.reason}; ${waitsFor.join(', ')} still loading`,
    short: why.short,
    plan: [],
  }
}

interface Why {
  readonly unchecked?: string
  readonly warning?: string
  readonly reason?: string
  readonly short?: ReadonlySet<string>
}

/** The step that comes next when all of `needed` have to be gone first; none = it may start. */
function goAfter(snapshot: MemorySnapshot, asker: Asker, needed: readonly Holder[], why: Why): Decision {
  const plan = needed.map((holder) => holder.slot)
  const short = why.short ?? new Set<string>()
  const because = (step: string) =>
    [step, why.reason ?? why.warning ?? why.unchecked ?? 'the group allows one'].join(': ')
  const of = (...standings: Holder['standing'][]) =>
    needed.filter((holder) => standings.includes(holder.standing)).toSorted(compareForEviction)
  const names = (list: readonly Holder[]) => list.map((holder) => holder.slot).join(', ')
  const victims = (list: readonly Holder[]): Victim[] =>
    list.map((holder) => ({
      slot: holder.slot,
      cause: asker.rivals.has(holder.slot) ? 'group' : 'preload',
      bytes: footprintBytes(snapshot, holder),
    }))
  const busy = of('busy', 'loading')
  if (busy.length > 0) {
    return { kind: 'wait', victims: victims(busy), reason: because(`waits for ${names(busy)}`), short, plan }
  }
  const quiet = of('quiet')
  if (quiet.length > 0) {
    return { kind: 'evict', victims: victims(quiet), reason: because(`evicts ${names(quiet)}`), short, plan }
  }
  if (plan.length > 0) {
    return { kind: 'hold', waitsFor: plan, reason: because(`${plan.join(', ')} stopping`), short, plan }
  }
  if (why.warning !== undefined) {
    return { kind: 'skip', isWarning: true, reason: `${why.warning}; admission = warn`, short, plan }
  }
  if (why.unchecked !== undefined) return { kind: 'skip', isWarning: false, reason: why.unchecked, short, plan }
  return { kind: 'admit', reason: 'it fits', short, plan }
}

function blockedByGroup(snapshot: MemorySnapshot, asker: Asker, fixed: readonly Holder[]): Decision {
  const names = fixed.map((holder) => holder.slot)
  const text = `slot ${asker.slot} must not run beside ${names.join(', ')} ([slots.groups]), and a slot that is pinned, or that a lane drives, does not make way`
  const balances = balancesOf(snapshot, asker)
  const shortage: Shortage = {
    text,
    remedy: `Unload it (\`hal0 slot unload ${names[0] ?? ''} --force\`), or take one of them out of the group in [slots.groups] of hal0.toml.`,
    neededBytes: Math.max(0, ...balances.map(({ neededBytes }) => neededBytes)),
    freeBytes: Math.max(0, ...balances.map(({ freeBytes }) => freeBytes)),
    evictableBytes: 0,
    shortfallBytes: 0,
    pinned: fixed.map((holder) => ({ slot: holder.slot, bytes: footprintBytes(snapshot, holder) })),
  }
  return { kind: 'insufficient', shortage, reason: text, short: new Set(), plan: [] }
}

function sharesMemory(snapshot: MemorySnapshot, asker: Asker, holder: Holder): boolean {
  const mine = memoriesOf(snapshot.pools, touchedPools(snapshot.pools, asker))
  return [...memoriesOf(snapshot.pools, touchedPools(snapshot.pools, holder))].some((memory) => mine.has(memory))
}
