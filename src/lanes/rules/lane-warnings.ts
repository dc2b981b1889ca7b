import type { LaneConfig } from '../../contract/lane-config.ts'
import { isoTime } from '../../kernel/units.ts'
import { type Booking, isBlocking } from './booking.ts'

export interface LaneWarningFacts {
  readonly config: Pick<LaneConfig, 'allow_exclusive' | 'approval' | 'device' | 'runner'>
  /** GPUs of the lane that this machine does not show; none where nobody has looked yet. */
  readonly missingGpus: readonly number[]
  /** Of the lane, in order of start. */
  readonly bookings: readonly Booking[]
  readonly nowMs: number
}

/** More are counted only. */
const MAX_NAMED = 3

/**
 * What is worth knowing of a lane as its file is now, sentences; empty = nothing. Bookings that were made before an edit stay as they are.
 * Members read them too: no paths. Source: SPEC 12 `allow_exclusive`, `approval`, `gpus`, 13.
 */
export function laneWarnings({ config, missingGpus, bookings, nowMs }: LaneWarningFacts): readonly string[] {
  const open = bookings.filter((one) => isBlocking(one) && one.endMs > nowMs)
  return [
    ...gpuWarnings(config, missingGpus),
    ...(config.allow_exclusive ? [] : exclusiveWarnings(open)),
    ...(config.approval === 'required' ? [] : pendingWarnings(open.filter(({ startMs }) => startMs > nowMs))),
  ]
}

function gpuWarnings({ device, runner }: LaneWarningFacts['config'], missing: readonly number[]): string[] {
  if (!device.startsWith('gpu-')) return []
  const warnings = []
  if (missing.length > 0) {
    const one = missing.length === 1
    const which = `${one ? 'GPU' : 'GPUs'} ${missing.join(', ')}`
    warnings.push(`this machine shows no ${which} for ${device}: \`hal0 doctor\` names what it shows`)
  }
  if (runner === 'embedded') {
    warnings.push(`the runner embedded computes on the CPU: whoever books this lane gets no GPU (device is ${device})`)
  }
  return warnings
}

function exclusiveWarnings(open: readonly Booking[]): string[] {
  const left = open.filter((one) => one.use.kind === 'exclusive')
  if (left.length === 0) return []
  const stays = left.length === 1 ? 'this one, which was made before, stays' : 'these, which were made before, stay'
  return [`exclusive bookings are not allowed here, but ${stays} until somebody cancels: ${namesOf(left)}`]
}

function pendingWarnings(open: readonly Booking[]): string[] {
  const left = open.filter(({ status }) => status === 'pending')
  if (left.length === 0) return []
  const waits = left.length === 1 ? 'this one, which was made before, waits' : 'these, which were made before, wait'
  return [
    `no approval is needed here any more, but ${waits} for an admin all the same, and undecided at the start is rejected: ${namesOf(left)}`,
  ]
}

function namesOf(bookings: readonly Booking[]): string {
  const named = bookings
    .slice(0, MAX_NAMED)
    .map(({ id, startMs, endMs }) => `${id} (${isoTime(startMs)} to ${isoTime(endMs)})`)
  const more = bookings.length > MAX_NAMED ? `, and ${bookings.length - MAX_NAMED} more` : ''
  return `${named.join(', ')}${more}`
}
