import type { LaunchPlan } from '../../contract/launch-plan.ts'
import type { AssembledLaunch } from '../../launch/rules/launch-request.ts'
import type { Runner } from '../../runners/runner.ts'
import type { PortPool } from '../port-pool.ts'
import type { SlotBinding } from './read-binding.ts'
import type { LaunchSources } from './resolve-launch.ts'
import { resolvedOf } from './resolved-ahead.ts'

/** Everything one start needs, decided afresh for each start, so that an edited file counts from the next one. */
export interface Binding {
  readonly bound: SlotBinding
  readonly runner: Runner
  readonly launch: AssembledLaunch
  readonly plan: LaunchPlan
  /** Which build of the engine was started; absent = it cannot be told. */
  readonly build?: string | undefined
  /** Tells launches apart, whatever their port. */
  readonly fingerprint: string
  /** To be called when no process of this start is left: others may have the port then. Idempotent. */
  readonly releasePort: () => void
}

/**
 * Everything that a slot with this binding is to launch now; claims a port for it, unless `signal` has aborted: then it rejects.
 * Errors: as `resolveLaunch`; `slot.port_in_use`.
 */
export async function prepareLaunch(
  sources: LaunchSources & { readonly ports: PortPool },
  bound: SlotBinding,
  previousPort: number | null,
  signal: AbortSignal,
): Promise<Binding> {
  const { resolved, fingerprint } = await resolvedOf(sources, bound)
  const { port } = bound.config
  const claim = await sources.ports.claim(bound.config.name, {
    previous: previousPort,
    signal,
    ...(port === undefined ? {} : { explicit: port }),
  })
  try {
    const launch = resolved.launchOn(claim.port)
    const { runner, build } = resolved
    return { bound, runner, launch, plan: launch.plan, build, fingerprint, releasePort: claim.release }
  } catch (cause) {
    claim.release()
    throw cause
  }
}
