import type { LaunchPlan } from '../../contract/launch-plan.ts'
import { GPU_VARIABLES } from './gpu-environment.ts'
import { isNegative } from './look-up-flag.ts'
import { canonicalName, keyOfFlag } from './plan-keys.ts'

/** A plan with what its command does not tell. A fact that one side lacks is not compared. */
export interface ComparedPlan {
  readonly plan: LaunchPlan
  /** Runner key. */
  readonly runner?: string | undefined
  readonly modelId?: string | undefined
  readonly profile?: string | undefined
  /** What lies where the program is: another build may have been put there. */
  readonly build?: string | undefined
}

/** Keys in the order in which they are told; flags that have no key, and variables, follow. */
const ORDER = [
  'model',
  'profile',
  'binary',
  'port',
  'ctx_size',
  'n_gpu_layers',
  'threads',
  'vision',
  'speculation',
  'reasoning_effort',
  'reasoning_budget',
  'gpu_index',
  'npu.asr',
  'npu.embed',
] as const

/**
 * What would a restart change, in the user's words? Keys of the files (`ctx_size`, `binary` for runner, program and a program that was replaced), `env.FOO`, and
 * `flags: --temp` for what has no key of its own. Another profile counts only when the command is another. Empty = nothing.
 * Source: SPEC 2 `restart_needed`.
 */
export function comparePlans(running: ComparedPlan, fresh: ComparedPlan): readonly string[] {
  const keys = new Set([
    ...changedFlags(running.plan, fresh.plan).map((flag) => keyWord(flag)),
    ...changedVariables(running.plan.env, fresh.plan.env),
  ])
  if (differs(running.modelId, fresh.modelId)) keys.add('model')
  if (running.plan.port !== fresh.plan.port) keys.add('port')
  const isSameProgram = sameWords(running.plan.command, fresh.plan.command) && running.plan.keyEnv === fresh.plan.keyEnv
  const isOtherBuild = differs(running.runner, fresh.runner) || differs(running.build, fresh.build)
  if (!isSameProgram || isOtherBuild) keys.add('binary')
  if (keys.size > 0 && differs(running.profile, fresh.profile)) keys.add('profile')
  const first = ORDER.filter((key) => keys.has(key))
  return [...first, ...[...keys].filter((key) => !first.some((other) => other === key)).toSorted()]
}

/** Canonical names, by what their values are in the order in which they stand. */
function flagTexts({ flags }: LaunchPlan): ReadonlyMap<string, string> {
  const texts = new Map<string, string>()
  for (const { flag, values } of flags) {
    const name = canonicalName(flag)
    const polarity = values.length === 0 && isNegative(flag) ? 'no' : ''
    texts.set(name, JSON.stringify([texts.get(name) ?? '', polarity, values]))
  }
  return texts
}

function changedFlags(running: LaunchPlan, fresh: LaunchPlan): readonly string[] {
  const before = flagTexts(running)
  const after = flagTexts(fresh)
  return [...new Set([...before.keys(), ...after.keys()])].filter((name) => before.get(name) !== after.get(name))
}

function keyWord(flag: string): string {
  const key = keyOfFlag(flag)
  return key !== undefined && ORDER.some((one) => one === key) ? key : `flags: ${flag}`
}

function changedVariables(running: LaunchPlan['env'], fresh: LaunchPlan['env']): readonly string[] {
  return Object.keys({ ...running, ...fresh })
    .filter((name) => running[name] !== fresh[name])
    .map((name) => (GPU_VARIABLES.includes(name) ? 'gpu_index' : `env.${name}`))
}

function differs(one: string | undefined, other: string | undefined): boolean {
  return one !== undefined && other !== undefined && one !== other
}

function sameWords(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((word, at) => word === other[at])
}
