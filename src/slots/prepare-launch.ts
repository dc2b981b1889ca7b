import { isDeepStrictEqual } from 'node:util'
import { findModelPath } from '../config/models-file.ts'
import { runnerKeyOf } from '../config/rules/slot-defaults.ts'
import { readSlotFile, type SlotConfig, slotFilePath } from '../config/slot-file.ts'
import type { LaunchPlan } from '../contract/launch-plan.ts'
import type { ContextChoice } from '../contract/slot-row.ts'
import type { Home } from '../files/home.ts'
import { Hal0Error } from '../kernel/errors.ts'
import { assemblePlan } from '../launch/rules/assemble-plan.ts'
import { chooseContext } from '../launch/rules/choose-context.ts'
import { readGgufFacts } from '../models/gguf-facts.ts'
import type { RunnerRegistry } from '../runners/registry.ts'
import type { Runner } from '../runners/runner.ts'
import type { PortPool } from './port-pool.ts'

/** Everything one start needs, decided afresh for each start, so that an edited file counts from the next one. */
export interface Binding {
  readonly config: SlotConfig
  readonly modelId: string
  readonly runner: Runner
  readonly plan: LaunchPlan
  readonly ctx: ContextChoice
  /** To be called when no process of this start is left: others may have the port then. Idempotent. */
  readonly releasePort: () => void
}

export interface LaunchSources {
  readonly home: Home
  readonly runners: RunnerRegistry
  readonly ports: PortPool
}

/**
 * What the slot's file says now. Errors: `slot.not_found`, `config.invalid`, `slot.llama_env_denied`.
 */
export async function readSlotConfig(home: Home, slot: string): Promise<SlotConfig> {
  const config = await readSlotFile(home, slot)
  if (config !== undefined) return config
  throw Hal0Error.of('slot.not_found', `slot ${slot} has no file any more (${slotFilePath(home, slot)})`)
}

/**
 * Everything that a slot with this configuration is to launch now; claims a port for it, unless `signal` has aborted: then it rejects.
 * Errors: `slot.not_ready` (no model bound), `slot.config_error` (unknown runner, damaged header), `model.not_found`,
 * `slot.model_missing`, `slot.port_in_use`, `slot.spawn_failed` (no such program).
 */
export async function prepareLaunch(
  sources: LaunchSources,
  config: SlotConfig,
  previousPort: number | null,
  signal: AbortSignal,
): Promise<Binding> {
  const launch = await planWithoutPort(sources, config)
  const claim = await sources.ports.claim(config.name, {
    previous: previousPort,
    signal,
    ...(config.port === undefined ? {} : { explicit: config.port }),
  })
  return { ...launch, plan: launch.planOn(claim.port), releasePort: claim.release }
}

/**
 * Would a start now be another one than `running` was? Then an explicit load restarts the slot. Source: SPEC 4 "Operations", CASES 15.
 * Errors: as `readSlotConfig` and `prepareLaunch`; what runs is not touched.
 */
export async function isLaunchChanged(sources: LaunchSources, running: Binding): Promise<boolean> {
  const config = await readSlotConfig(sources.home, running.config.name)
  const launch = await planWithoutPort(sources, config)
  const port = config.port ?? running.plan.port
  if (port !== running.plan.port) await sources.ports.checkFree(config.name, port)
  const isSame =
    launch.modelId === running.modelId &&
    launch.runner === running.runner &&
    isDeepStrictEqual(launch.planOn(port), running.plan)
  return !isSame
}

async function planWithoutPort(sources: LaunchSources, config: SlotConfig) {
  const modelId = config.model.default
  if (modelId === '') throw noModelBound(config.name)
  const runner = findRunner(sources.runners, config)
  const modelPath = await findModelPath(sources.home, modelId)
  const facts = await readGgufFacts(modelPath)
  const command = await runner.findCommand()
  const ctx = chooseContext(facts.nativeCtxTokens)
  const planOn = (port: number): LaunchPlan =>
    assemblePlan({
      slot: config.name,
      command,
      port,
      modelPath,
      ctxTokens: ctx.ctxTokens,
      nGpuLayers: config.n_gpu_layers,
      threads: config.threads,
      keyEnv: runner.keyEnv,
      env: config.server.env,
    })
  return { config, modelId, runner, ctx, planOn }
}

/** Nobody bound a model: only a person can change that. Source: SPEC 20 `slot.not_ready`. */
export function noModelBound(slot: string): Hal0Error {
  return Hal0Error.of('slot.not_ready', `slot ${slot} has no model: set default under [model] in its file`, {
    details: { slot },
  })
}

function findRunner(runners: RunnerRegistry, config: SlotConfig): Runner {
  const key = runnerKeyOf(config)
  const runner = runners.find(key)
  if (runner === undefined) {
    const known = runners.all().map((r) => r.key)
    if (config.binary === undefined) {
      throw Hal0Error.of(
        'slot.config_error',
        `slot ${config.name}: device ${config.device} has no runner in this version`,
        {
          param: 'device',
        },
      )
    }
    throw Hal0Error.of('slot.config_error', `slot ${config.name}: no runner "${key}" (known: ${known.join(', ')})`, {
      param: 'binary',
    })
  }
  if (!runner.types.includes(config.type)) {
    throw Hal0Error.of('slot.config_error', `slot ${config.name}: runner ${key} does not serve type ${config.type}`, {
      param: 'binary',
    })
  }
  return runner
}
