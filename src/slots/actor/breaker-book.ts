import type { BreakerView } from '../../contract/slot-row.ts'
import type { BreakerEntry } from '../../contract/slot-state.ts'
import { decideStart, RECOVERED_AFTER_MS, type StartDecision, viewBreaker } from '../rules/next-breaker.ts'

/** So many models of one slot are remembered; the one whose last failure is oldest goes first. */
const MOST_ENTRIES = 32

/** No plan came out of the files: whatever makes one is another launch. */
export const NO_LAUNCH = 'none'

/**
 * What counts against the launches of one slot, by model. Belongs to the slot's actor; `keep` persists it. Source: SPEC 6.
 */
export class BreakerBook {
  readonly #entries = new Map<string, BreakerEntry>()
  /**
   * A request was answered, so nothing counts any more; but an engine that dies before it has been ready for RECOVERED_AFTER_MS never had
   * recovered: without this, one that crashes after each first answer would be started every five seconds for ever.
   */
  #pardoned: BreakerEntry | undefined
  readonly #keep: (entries: readonly BreakerEntry[]) => void
  readonly #isCounting: () => boolean

  /** `isCounting`: false = somebody else decides when to try again, and nothing counts. */
  constructor(
    entries: readonly BreakerEntry[],
    keep: (entries: readonly BreakerEntry[]) => void,
    isCounting: () => boolean = () => true,
  ) {
    this.#isCounting = isCounting
    for (const entry of entries) this.#entries.set(entry.model_id, entry)
    this.#keep = keep
  }

  decide(modelId: string, nowMs: number): StartDecision {
    return decideStart(this.#entryOf(modelId, nowMs), nowMs)
  }

  view(modelId: string, nowMs: number, isStarted: boolean): BreakerView | null {
    return viewBreaker(this.#entryOf(modelId, nowMs), nowMs, isStarted)
  }

  /**
   * A failure that has yet to happen: the clock was set back. The cool-down begins anew by the clock as it is now; else the slot would be held
   * back until the clock had caught up, an hour for five seconds.
   */
  #entryOf(modelId: string, nowMs: number): BreakerEntry | undefined {
    const entry = this.#entries.get(modelId)
    if (entry === undefined || entry.failed_at_ms <= nowMs) return entry
    const moved = { ...entry, failed_at_ms: nowMs }
    this.#entries.set(modelId, moved)
    return moved
  }

  /** A load has failed, or an engine has died. `readyForMs`: how long it had been ready; undefined = it never was. */
  failed(modelId: string, launch: string, nowMs: number, readyForMs?: number): void {
    if (!this.#isCounting()) return
    const pardoned = this.#pardoned?.model_id === modelId ? this.#pardoned : undefined
    this.#pardoned = undefined
    const isFresh = readyForMs !== undefined && readyForMs >= RECOVERED_AFTER_MS
    const before = isFresh ? undefined : (this.#entries.get(modelId) ?? pardoned)
    const failures = (before?.failures ?? 0) + 1
    this.#entries.delete(modelId)
    this.#entries.set(modelId, { model_id: modelId, failures, failed_at_ms: nowMs, launch })
    const [oldest] = this.#entries.keys()
    if (this.#entries.size > MOST_ENTRIES && oldest !== undefined) this.#entries.delete(oldest)
    this.#tell()
  }

  /** Why it failed: what those are told who are refused. */
  explained(modelId: string, { message, remedy }: { readonly message: string; readonly remedy: string }): void {
    const entry = this.#entries.get(modelId)
    if (entry === undefined) return
    this.#entries.set(modelId, { ...entry, last: { message, remedy } })
    this.#tell()
  }

  /** Why it failed the last time; undefined = nothing counts, or it is not known. */
  reasonOf(modelId: string): BreakerEntry['last'] {
    return this.#entries.get(modelId)?.last
  }

  /** A request was answered to its end. */
  answered(modelId: string): void {
    const entry = this.#entries.get(modelId)
    if (entry === undefined) return
    this.#pardoned = entry
    this.#entries.delete(modelId)
    this.#tell()
  }

  /** It has been ready for RECOVERED_AFTER_MS, or a person wants it started: nothing counts any more. */
  forget(modelId: string): void {
    if (this.#pardoned?.model_id === modelId) this.#pardoned = undefined
    if (this.#entries.delete(modelId)) this.#tell()
  }

  /** What a start now would launch; failures of another launch do not count. */
  launchIs(modelId: string, launch: string): void {
    if (this.#pardoned?.model_id === modelId && this.#pardoned.launch !== launch) this.#pardoned = undefined
    const entry = this.#entries.get(modelId)
    if (entry !== undefined && entry.launch !== launch) this.forget(modelId)
  }

  #tell(): void {
    this.#keep([...this.#entries.values()])
  }
}
