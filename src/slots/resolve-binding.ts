import { findModelPath } from '../config/models-file.ts'
import { readSlotFile, runnerKeyOf, type SlotConfig, slotFilePath } from '../config/slot-file.ts'
import type { LaunchPlan } from '../contract/launch-plan.ts'
import type { Home } from '../files/home.ts'
import { Hal0Error } from '../kernel/errors.ts'
import { assemblePlan } from '../launch/rules/assemble-argv.ts'
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
}

export interface BindingSources {
  readonly home: Home
  readonly runners: RunnerRegistry
  readonly ports: PortPool
}

/**
 * What would this slot launch now?
 * Errors: `slot.not_found`, `config.invalid`, `slot.llama_env_denied`, `slot.not_ready` (no model bound), `slot.config_error`
 * (unknown runner, damaged header), `model.not_found`, `slot.model_missing`, `slot.port_in_use`, `slot.spawn_failed` (no such program).
 */
export async function resolveBinding(
  sources: BindingSources,
  slot: string,
  previousPort: number | null,
): Promise<Binding> {
  const config = await readSlotFile(sources.home, slot)
  if (config === undefined) {
    throw Hal0Error.of('slot.not_found', `slot ${slot} has no file any more (${slotFilePath(sources.home, slot)})`)
  }
  const modelId = config.model.default
  if (modelId === '') throw noModelBound(slot)
  const runner = findRunner(sources.runners, config)
  const modelPath = await findModelPath(sources.home, modelId)
  const facts = await readGgufFacts(modelPath)
  const command = await runner.findCommand()
  const port = await sources.ports.claim(slot, {
    previous: previousPort,
    ...(config.port === undefined ? {} : { explicit: config.port }),
  })
  const plan = assemblePlan({
    slot,
    command,
    port,
    modelPath,
    ctxTokens: chooseContext(facts.nativeCtxTokens).ctxTokens,
    nGpuLayers: config.n_gpu_layers,
    threads: config.threads,
    keyEnv: runner.keyEnv,
    env: config.server.env,
  })
  return { config, modelId, runner, plan }
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
