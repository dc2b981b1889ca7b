import { gibText } from '../../../kernel/units.ts'
import { type Balance, balancesOf, footprintBytes, heldOn, type MemorySnapshot } from './memory-limits.ts'
import { footprintOf, type Placed } from './memory-map.ts'
import { canGiveWay } from './select-victims.ts'

/** Why a load can never start as things are; all in bytes of the limit that misses most. Source: SPEC 7, `slot.preload_evict_insufficient`. */
export interface Shortage {
  readonly text: string
  readonly remedy: string
  readonly neededBytes: number
  readonly freeBytes: number
  /** What unloading every slot that may be unloaded would add. */
  readonly evictableBytes: number
  /** What is missing even then. */
  readonly shortfallBytes: number
  /** Who holds memory there and does not make way; `bytes` undefined = not known. */
  readonly pinned: readonly { readonly slot: string; readonly bytes: number | undefined }[]
}

/** In one clause: what is needed of what, and what is free. */
export function describeShort(short: readonly Balance[]): string {
  return short
    .map(
      ({ limit, neededBytes, freeBytes }) =>
        `${gibText(neededBytes)} of ${limit.ids.join(' + ')} needed, ${gibText(Math.max(0, freeBytes))} free`,
    )
    .join('; ')
}

/** What exactly is missing when all of `gone` are unloaded? */
export function findShortage(snapshot: MemorySnapshot, asker: Placed, gone: ReadonlySet<string>): Shortage {
  const now = worstOf(snapshot, asker, new Set())
  const after = worstOf(snapshot, asker, gone) ?? now
  const before = balancesOf(snapshot, asker).find(({ limit }) => limit.kind === after?.limit.kind) ?? after
  if (after === undefined || before === undefined) return nothingKnown(asker)
  const pinned = snapshot.holders
    .filter((holder) => holder.slot !== asker.slot && !canGiveWay(holder))
    .map((holder) => {
      const footprint = footprintOf(snapshot.pools, holder)
      const onLimit = footprint === undefined ? undefined : heldOn(after.limit, footprint, snapshot.pools)
      return { slot: holder.slot, bytes: footprint === undefined ? footprintBytes(snapshot, holder) : onLimit }
    })
    .filter(({ bytes }) => bytes !== 0)
  const freeBytes = Math.max(0, before.freeBytes)
  const evictableBytes = Math.max(0, after.freeBytes - freeBytes)
  const shortfallBytes = Math.max(0, after.neededBytes - freeBytes - evictableBytes)
  const place = after.limit.ids.join(' + ')
  const holders = pinned.map(({ slot, bytes }) => `${slot} (${bytes === undefined ? 'unknown' : gibText(bytes)})`)
  const parts = [
    `slot ${asker.slot} needs ${gibText(after.neededBytes)} of ${place}, ${gibText(freeBytes)} are free`,
    evictableBytes > 0 && `unloading every slot that is not pinned would add ${gibText(evictableBytes)}`,
    `${gibText(shortfallBytes)} are missing`,
    holders.length > 0 && `held by slots that do not make way: ${holders.join(', ')}`,
  ]
  return {
    text: parts.filter((part) => part !== false).join('; '),
    remedy: remedyFor(asker.slot, chooseUnpinned(pinned, shortfallBytes)),
    neededBytes: after.neededBytes,
    freeBytes,
    evictableBytes,
    shortfallBytes,
    pinned,
  }
}

/** The pinned slot whose memory would do; undefined = none alone has that much, or it cannot be told. */
function chooseUnpinned(pinned: Shortage['pinned'], shortfallBytes: number): string | undefined {
  return pinned.find(({ bytes }) => bytes === undefined || bytes >= shortfallBytes)?.slot
}

function remedyFor(slot: string, pinned: string | undefined): string {
  const smaller = `choose a smaller model or a lower ctx_size for slot ${slot}`
  return pinned === undefined
    ? `${smaller[0]?.toUpperCase() ?? ''}${smaller.slice(1)} (\`hal0 slot edit ${slot}\`), or end what else uses this memory.`
    : `Unload ${pinned} (\`hal0 slot unload ${pinned} --force\`) or set pinned = false for it, or ${smaller} (\`hal0 slot edit ${slot}\`).`
}

function worstOf(snapshot: MemorySnapshot, asker: Placed, gone: ReadonlySet<string>): Balance | undefined {
  return balancesOf(snapshot, asker, { gone }).toSorted((a, b) => b.missingBytes - a.missingBytes)[0]
}

function nothingKnown(asker: Placed): Shortage {
  return {
    text: `slot ${asker.slot} does not fit`,
    remedy: remedyFor(asker.slot, undefined),
    neededBytes: 0,
    freeBytes: 0,
    evictableBytes: 0,
    shortfallBytes: 0,
    pinned: [],
  }
}
