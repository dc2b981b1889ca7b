import { argvOf } from '../../contract/launch-plan.ts'
import type { ResolvedLaunch } from '../../contract/resolved.ts'
import { explainFlags } from '../../launch/rules/explain-flags.ts'
import type { PortPool } from '../port-pool.ts'
import { requireRow, type SlotManager } from '../slot-manager.ts'
import { readBinding, type SlotBinding } from './read-binding.ts'
import { type LaunchSources, resolveLaunch } from './resolve-launch.ts'

/**
 * The command that a start now would run, flag by flag, beside what is known of the one that runs. Nothing is claimed or changed.
 * Errors: `slot.not_found`, as `resolveLaunch`. Source: SPEC 9.
 */
export async function resolveView(
  sources: LaunchSources & { readonly ports: PortPool },
  slots: SlotManager,
  name: string,
): Promise<ResolvedLaunch> {
  const row = requireRow(slots, name)
  const bound = await readBinding(sources, name, slots.override(name))
  const resolved = await resolveLaunch(sources, bound)
  // The port of a slot that never ran is chosen at its start; until then the one it would get now stands for it.
  const port = bound.config.port ?? row.port ?? (await sources.ports.suggest(name))
  const launch = resolved.launchOn(port)
  const { plan, thinking } = launch
  return {
    slot: name,
    model_id: bound.modelId === '' ? null : bound.modelId,
    profile: bound.profile,
    profile_source: bound.profileSource,
    runner: resolved.runner.key,
    argv: [...argvOf(plan)],
    flags: explainFlags(launch).map((flag) => ({
      ...flag,
      values: [...flag.values],
      replaced: flag.replaced.map((one) => ({ ...one, values: [...one.values] })),
    })),
    removed: launch.removed.map(({ flag, values, layer, reason, detail }) => ({
      flag,
      values: [...values],
      layer,
      reason,
      detail,
    })),
    env: { ...plan.env },
    ctx_effective: launch.ctx.ctxTokens,
    ctx_source: launch.ctx.source,
    speculation: { mode: launch.speculation.mode, detail: launch.speculation.detail },
    thinking: {
      enabled: thinking.enabled ?? null,
      source: thinking.source,
      pinned_by: thinking.pinnedBy ?? null,
    },
    notes: [...swapNotes(name, bound), ...launch.notes],
    config_drift: [...row.config_drift],
    restart_needed: [...row.restart_needed],
  }
}

function swapNotes(slot: string, { config, modelId }: SlotBinding): readonly string[] {
  const own = config.model.default
  if (own === '' || own === modelId) return []
  return [`${modelId} was swapped in: \`hal0 slot restart ${slot}\` runs ${own}, which its file binds`]
}
