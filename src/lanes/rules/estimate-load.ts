import type { LaneExplanation } from '../../contract/lane.ts'
import type { LoadPhases } from '../../contract/slot-row.ts'
import { SECOND_MS } from '../../kernel/units.ts'
import type { LaneTarget } from './lane-target.ts'

/** So many of the last loads are averaged. Source: SPEC 12 "Estimate". */
const LOADS_COUNTED = 5
/** What a load takes besides reading the file. */
const BESIDES_READING_MS = 15 * SECOND_MS
/** `disk_read_mbps` counts these. */
const BYTES_PER_MB = 1e6

/** What is known of how long a target takes to load. */
export interface LoadKnowledge {
  readonly target: LaneTarget
  /** Successful loads of this target on this lane, release to ready, ms, newest first. */
  readonly recentMs: readonly number[]
  /** Of all files of its model; undefined = not known. */
  readonly fileBytes: number | undefined
  /** MB/s, above 0. */
  readonly diskReadMbps: number
  readonly stopTimeoutMs: number
}

/** A length of time, whole ms ≥ 0, and what it was reckoned from. */
export interface LoadEstimate {
  readonly ms: number
  readonly source: LaneExplanation['estimates'][number]['source']
}

/** How long will a lane take to get this target ready? Source: SPEC 12 "Estimate". */
export function estimateLoad(known: LoadKnowledge): LoadEstimate {
  if (known.target.kind === 'nothing') return { ms: known.stopTimeoutMs, source: 'stop' }
  const counted = known.recentMs.slice(0, LOADS_COUNTED)
  if (counted.length > 0) {
    const sumMs = counted.reduce((sum, ms) => sum + ms, 0)
    return { ms: Math.ceil(sumMs / counted.length), source: 'history' }
  }
  if (known.fileBytes === undefined) return { ms: BESIDES_READING_MS, source: 'unknown' }
  const readingMs = (known.fileBytes / (known.diskReadMbps * BYTES_PER_MB)) * SECOND_MS
  return { ms: Math.ceil(readingMs) + BESIDES_READING_MS, source: 'size' }
}

/** From the release of the old memory to ready, ms: what an estimate is made of. Absent phases took no time. Source: SPEC 5, 12. */
export function loadMsOfPhases(phases: LoadPhases): number {
  return (phases.release ?? 0) + (phases.spawn ?? 0) + (phases.warm ?? 0) + (phases.sanity ?? 0)
}
