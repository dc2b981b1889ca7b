import { fingerprintOf } from './fingerprint.ts'
import type { SlotBinding } from './read-binding.ts'
import { type LaunchSources, type ResolvedSlot, resolveLaunch } from './resolve-launch.ts'

/** What a binding launches, with what tells it from other launches. */
export interface ResolvedLaunchOf {
  readonly resolved: ResolvedSlot
  readonly fingerprint: string
}

/** By the binding as it was read, which nobody changes: it goes with it. */
const known = new WeakMap<SlotBinding, ResolvedLaunchOf>()

/** As `resolveLaunch`; kept for the start that is prepared from this very reading of the files. Errors: as `resolveLaunch`. */
export async function resolveAhead(sources: LaunchSources, bound: SlotBinding): Promise<ResolvedLaunchOf> {
  const resolved = await resolveLaunch(sources, bound)
  const answer = { resolved, fingerprint: fingerprintOf(resolved) }
  known.set(bound, answer)
  return answer
}

/** What was resolved ahead for this very reading, which is then forgotten; else as `resolveAhead`. Errors: as `resolveLaunch`. */
export async function resolvedOf(sources: LaunchSources, bound: SlotBinding): Promise<ResolvedLaunchOf> {
  const answer = known.get(bound)
  if (answer === undefined) {
    const resolved = await resolveLaunch(sources, bound)
    return { resolved, fingerprint: fingerprintOf(resolved) }
  }
  known.delete(bound)
  return answer
}
