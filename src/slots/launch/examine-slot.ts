import { isDeepStrictEqual } from 'node:util'
import { runnerKeyOf } from '../../config/slots/rules/slot-defaults.ts'
import { type Hal0Error, toHal0Error } from '../../kernel/errors.ts'
import { comparePlans } from '../../launch/rules/compare-plans.ts'
import { findDrift } from '../../launch/rules/find-drift.ts'
import type { ThinkingChoice } from '../../launch/rules/launch-request.ts'
import type { StartedEngine } from '../life/started-engine.ts'
import type { PortPool } from '../port-pool.ts'
import { sourceOf } from '../slot-source.ts'
import { type Override, readBinding, type SlotBinding } from './read-binding.ts'
import type { LaunchSources } from './resolve-launch.ts'
import { resolveAhead } from './resolved-ahead.ts'

/** What a slot's files say now, beside what runs. */
export interface Examination {
  /** Undefined = the slot's own file cannot be used; `problem` says why. */
  readonly bound: SlotBinding | undefined
  /** Why a start now would fail; undefined = it would not (a slot without a model is no problem before somebody asks for it). */
  readonly problem: Hal0Error | undefined
  /** Of a start now; undefined while there is a problem. */
  readonly fingerprint: string | undefined
  /** For new requests; undefined while there is a problem. */
  readonly thinking: ThinkingChoice | undefined
  /** What a restart would change, in the user's words; empty when nothing runs. */
  readonly restartNeeded: readonly string[]
  /** What the live process was found to run differently; empty when nothing runs. */
  readonly drift: readonly string[]
}

/**
 * Reads a slot's files afresh and compares them with the engine that runs, if one does. Changes nothing. Never rejects.
 * Source: SPEC 2 "An edit never stops a process", 9 "Drift".
 */
export async function examineSlot(
  sources: LaunchSources & { readonly ports: PortPool },
  slot: string,
  override: Override | undefined,
  running: StartedEngine | undefined,
): Promise<Examination> {
  let bound: SlotBinding | undefined
  try {
    bound = await readBinding(sources, slot, override)
    const { resolved, fingerprint } = await resolveAhead(sources, bound)
    const runs = running?.binding
    const port = bound.config.port ?? runs?.plan.port
    const fresh = resolved.launchOn(port ?? PORT_UNKNOWN)
    const { thinking } = fresh
    if (running === undefined || runs === undefined) {
      return { bound, problem: undefined, fingerprint, thinking, restartNeeded: [], drift: [] }
    }
    if (port !== undefined && port !== runs.plan.port) await sources.ports.checkFree(slot, port)
    const changes = comparePlans(
      {
        plan: runs.plan,
        runner: runs.runner.key,
        modelId: runs.bound.modelId,
        profile: runs.bound.profile,
        build: runs.build,
      },
      {
        plan: fresh.plan,
        runner: resolved.runner.key,
        modelId: bound.modelId,
        profile: bound.profile,
        build: resolved.build,
      },
    )
    // Whatever the comparison has no word for still is another launch.
    const restartNeeded = changes.length > 0 || isDeepStrictEqual(runs.plan, fresh.plan) ? changes : ['flags']
    const argv = await running.process.readArgv()
    return {
      bound,
      problem: undefined,
      fingerprint,
      thinking,
      restartNeeded,
      drift: argv === undefined ? [] : findDrift(argv, fresh.plan),
    }
  } catch (cause) {
    const problem = toHal0Error(cause)
    // What a lane runs is its own affair, and may be nothing in a moment.
    const isUnbound = problem.code === 'slot.not_ready' && (running === undefined || sourceOf(sources).isLanes(slot))
    return {
      bound,
      problem: isUnbound ? await programProblem(sources, bound) : problem,
      fingerprint: undefined,
      thinking: undefined,
      restartNeeded: [],
      drift: [],
    }
  }
}

/** Without its program a slot needs more than a model, and its owner may know now. */
async function programProblem(sources: LaunchSources, bound: SlotBinding | undefined): Promise<Hal0Error | undefined> {
  const key = bound === undefined ? undefined : runnerKeyOf(bound.config, bound.profileRunner)
  const runner = key === undefined ? undefined : sources.runners.find(key)
  try {
    await runner?.findCommand()
    return undefined
  } catch (cause) {
    return toHal0Error(cause)
  }
}

/** Stands for the port that the next start will choose. */
const PORT_UNKNOWN = 0
