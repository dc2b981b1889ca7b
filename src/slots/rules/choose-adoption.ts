import type { LaunchRecord } from '../../contract/launch-record.ts'
import type { ProcessRef, SanityResult, SlotState, SlotStateRecord } from '../../contract/slot-state.ts'

/** An engine that an earlier daemon left, beside what is written down of its slot. */
export interface SurvivorFacts {
  readonly attemptId: string
  readonly ref: Pick<ProcessRef, 'pid' | 'start_ticks'>
  /** The slot's file is there, readable or not. */
  readonly hasFile: boolean
  readonly record: SlotStateRecord | undefined
  readonly launch: LaunchRecord | undefined
}

export type AdoptionDecision =
  /** `known`: what was found of its output; undefined = it is asked first. */
  | { readonly kind: 'adopt'; readonly launch: LaunchRecord; readonly known: SanityResult | undefined }
  /** `reason`: one clause. */
  | { readonly kind: 'end'; readonly reason: string }

/** An engine in one of these was wanted when the daemon went. */
const WANTED: readonly SlotState[] = ['starting', 'warming', 'ready', 'serving', 'idle']

/**
 * May a slot take this engine for its own again? Only the one that was started last, by the process that was started, and only if it was not
 * to be stopped. Whether it knows the slot's key is asked afterwards. Source: SPEC 4 "Adoption".
 */
export function chooseAdoption({ attemptId, ref, hasFile, record, launch }: SurvivorFacts): AdoptionDecision {
  if (!hasFile) return { kind: 'end', reason: 'its slot has no file any more' }
  if (launch === undefined) return { kind: 'end', reason: 'what it was started with is not known' }
  if (launch.attempt_id !== attemptId) return { kind: 'end', reason: 'a later start took its place' }
  // The daemon may have gone before it wrote down what it had just started.
  if (record?.extra.attempt_id !== attemptId) return { kind: 'adopt', launch, known: undefined }
  if (!WANTED.includes(record.state)) return { kind: 'end', reason: `its slot was ${record.state}` }
  const { process, sanity, stopping } = record.extra
  if (stopping === true) return { kind: 'end', reason: 'it was being stopped' }
  if (process !== undefined && (process.pid !== ref.pid || process.start_ticks !== ref.start_ticks)) {
    return { kind: 'end', reason: 'the process that was started has died, and left this one behind' }
  }
  return { kind: 'adopt', launch, known: sanity }
}
