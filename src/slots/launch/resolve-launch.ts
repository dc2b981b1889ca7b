import { findModelRow, launchModelOf } from '../../config/models/models-file.ts'
import { launchProfileOf, type Profile, readProfile, readProfiles } from '../../config/profiles/profiles-file.ts'
import { runnerKeyOf } from '../../config/slots/rules/slot-defaults.ts'
import type { Home } from '../../files/home.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { listNames } from '../../kernel/list-names.ts'
import { selectNearest } from '../../kernel/nearest-word.ts'
import { assembleLaunch } from '../../launch/rules/assemble-launch.ts'
import { modelOfTag } from '../../launch/rules/flm-layers.ts'
import type { AssembledLaunch, LaunchModel, LaunchRequest } from '../../launch/rules/launch-request.ts'
import type { RunnerRegistry } from '../../runners/registry.ts'
import { tagWordsOf } from '../../runners/rules/service-keys.ts'
import type { Runner } from '../../runners/runner.ts'
import { type SourceDeps, sourceOf } from '../slot-source.ts'
import type { SlotBinding } from './read-binding.ts'

export interface LaunchSources extends SourceDeps {
  readonly runners: RunnerRegistry
}

/** A launch without its port. */
export interface ResolvedSlot {
  readonly bound: SlotBinding
  readonly runner: Runner
  /** Which build of the engine; undefined = it cannot be told. */
  readonly build: string | undefined
  /** Pure. Errors: `slot.flag_unsupported`, `slot.config_error`. */
  launchOn(port: number): AssembledLaunch
}

/**
 * What would this binding launch now? Files, profile, model and the engine's own word are read afresh.
 * Errors: `slot.not_ready` (no model bound), `slot.config_error` (runner, damaged header), `slot.profile_missing`, `model.not_found`,
 * `slot.model_missing`, `slot.spawn_failed` (no such program), `slot.flag_unsupported`, `config.invalid`. Source: SPEC 5, 9.
 */
export async function resolveLaunch(sources: LaunchSources, bound: SlotBinding): Promise<ResolvedSlot> {
  const { config } = bound
  const profile = await findProfile(sources.home, bound)
  const runner = findRunner(sources.runners, bound, profile)
  if (bound.modelId === '' && !runner.isSelfManaged) {
    throw noModelBound(config.name, runner.key, sourceOf(sources).isLanes(config.name))
  }
  const model = bound.modelId === '' ? undefined : await readModel(sources.home, runner, bound.modelId)
  const command = await runner.findCommand()
  const { abilities, help, build } = await runner.describe(command)
  const request: Omit<LaunchRequest, 'port'> = {
    slot: config.name,
    type: config.type,
    device: config.device,
    engine: {
      key: runner.key,
      dialect: runner.dialect,
      abilities,
      help,
      noEffect: runner.noEffect,
      command,
      keyEnv: runner.keyEnv,
      ...(runner.stopSignal === undefined ? {} : { stopSignal: runner.stopSignal }),
      ...(runner.template === undefined ? {} : { template: runner.template }),
    },
    model,
    profile: launchProfileOf(profile),
    tune: config.tune,
    nGpuLayers: config.n_gpu_layers,
    threads: config.threads,
    gpus: bound.gpus,
    env: config.server.env,
    ...(config.npu === undefined ? {} : { npu: config.npu }),
  }
  return {
    bound,
    runner,
    build,
    launchOn: (port) => {
      const launch = assembleLaunch({ ...request, port })
      if (!launch.ok) throw launch.error
      return launch.value
    },
  }
}

async function findProfile(home: Home, { config, profile: name }: SlotBinding): Promise<Profile> {
  const profile = await readProfile(home, name)
  if (profile !== undefined) return profile
  const names = [...(await readProfiles(home)).keys()]
  const nearest = selectNearest(name, names)
  const hint = nearest === undefined ? `there are: ${listNames(names)}` : `did you mean ${nearest}?`
  throw Hal0Error.of(
    'slot.profile_missing',
    `slot ${config.name} names profile "${name}", which does not exist; ${hint}`,
    {
      param: 'profile',
      details: {
        slot: config.name,
        profile: name,
        remedy: `Create it (\`hal0 profile create ${name}\`), or point the slot at another: \`hal0 slot edit ${config.name} --profile NAME\`.`,
      },
    },
  )
}

async function readModel(home: Home, runner: Pick<Runner, 'modelRef'>, id: string): Promise<LaunchModel> {
  // Its engine has its own names for models; no row has to say anything.
  if (runner.modelRef === 'tag') return modelOfTag(id)
  return launchModelOf(id, await findModelRow(home, id))
}

/** Nobody bound a model: only a person can change that. Source: SPEC 20 `slot.not_ready`. */
export function noModelBound(slot: string, runner: string, isLanes = false): Hal0Error {
  if (isLanes) {
    const remedy = `Look what it is to run, and why: \`hal0 lane explain ${slot}\`.`
    return Hal0Error.of('slot.not_ready', `lane ${slot} is to run nothing now`, { details: { slot, remedy } })
  }
  const { word, where } = tagWordsOf(runner) ?? { word: 'ID', where: '`hal0 model list` shows the ids' }
  return Hal0Error.of('slot.not_ready', `slot ${slot} has no model`, {
    details: { slot, remedy: `Bind one: \`hal0 slot edit ${slot} --model ${word}\`; ${where}.` },
  })
}

function findRunner(runners: RunnerRegistry, { config }: SlotBinding, profile: Profile): Runner {
  const key = runnerKeyOf(config, profile.body.runner)
  const runner = runners.find(key)
  if (runner !== undefined && runner.types.includes(config.type)) return runner
  const [owner, param] =
    config.binary !== undefined
      ? [`slot ${config.name}`, 'binary']
      : profile.body.runner !== undefined
        ? [`profile ${profile.name} of slot ${config.name}`, 'runner']
        : [`slot ${config.name}: device ${config.device}`, 'device']
  const fitting = runners.all().filter((other) => other.types.includes(config.type))
  const remedy = `Choose another: \`hal0 slot edit ${config.name} --binary KEY\`; for type ${config.type} there are ${listNames(fitting.map((other) => other.key)) || 'none'}.`
  const what = runner === undefined ? `there is no runner "${key}"` : `runner ${key} does not serve type ${config.type}`
  throw Hal0Error.of('slot.config_error', `${owner}: ${what}`, { param, details: { slot: config.name, remedy } })
}
