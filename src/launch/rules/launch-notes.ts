import type { Dialect } from '../../contract/runner.ts'
import type { LaunchChoices } from './derived-layers.ts'
import { gpuEnvironment } from './gpu-environment.ts'
import type { LaunchRequest } from './launch-request.ts'
import type { LayeredFlag } from './merge-flags.ts'

/** Flags that stretch the window of a model beyond its native one. */
const STRETCHING =
  /^--(rope-(scaling|scale|freq-base|freq-scale)|yarn-orig-ctx|override-kv|grp-attn-n|hf-overrides|json-model-override-args)$/

const DEGRADES = 'answers may degrade beyond it'

/** What engines make of a window that the model was not trained for. */
const WINDOW_BEYOND: Readonly<Record<Dialect, string>> = {
  'llama-server': 'a request can use no more than that (older builds: answers degrade beyond it)',
  vllm: DEGRADES,
  sglang: DEGRADES,
  flm: DEGRADES,
  template: DEGRADES,
}

/**
 * What about this launch is worth knowing and no error? One sentence each, without a full stop. `flags`: those of the command.
 * Source: SPEC 9, contract/resolved.ts `notes`.
 */
export function launchNotes(
  request: LaunchRequest,
  choices: LaunchChoices,
  flags: readonly LayeredFlag[],
): readonly string[] {
  return [
    ...windowNotes(request, choices, flags),
    ...modeNotes(request, choices),
    ...visionNotes(request, choices),
    ...speculationNotes(request, choices),
    ...reasoningNotes(request),
    ...gpuNotes(request),
  ]
}

function windowNotes(
  { model, engine }: LaunchRequest,
  { ctx }: LaunchChoices,
  flags: readonly LayeredFlag[],
): readonly string[] {
  const native = model?.nativeCtxTokens ?? null
  if (native === null || ctx.ctxTokens <= native) return []
  if (flags.some(({ canonical }) => STRETCHING.test(canonical))) return []
  const beyond = WINDOW_BEYOND[engine.dialect]
  return [`the window of ${ctx.ctxTokens} tokens is larger than the model's own of ${native}: ${beyond}`]
}

function modeNotes({ type, profile }: LaunchRequest, { isPooled }: LaunchChoices): readonly string[] {
  if (type !== 'llm' || !isPooled) return []
  return [`profile ${profile.name} makes the engine embed or rerank: this slot of type llm will answer no chat`]
}

function visionNotes({ model, engine, profile, tune }: LaunchRequest, { isPooled }: LaunchChoices): readonly string[] {
  const isWanted = (tune.vision ?? profile.vision ?? 'auto') === 'auto'
  const hasProjector = model !== undefined && model.mmproj !== null
  if (isPooled || !isWanted || !hasProjector || engine.abilities.mmproj) return []
  return [`the model has a projector for images, which runner ${engine.key} cannot use`]
}

function speculationNotes({ model, engine }: LaunchRequest, choices: LaunchChoices): readonly string[] {
  const { speculation, isPooled } = choices
  const hasDrafter = model !== undefined && model.drafter !== null
  if (isPooled) return []
  if (hasDrafter && !engine.abilities.drafter) return [`the model has a drafter, which runner ${engine.key} cannot use`]
  if (speculation.mode === 'drafter' && !hasDrafter && engine.dialect === 'llama-server') {
    return [`${speculation.detail}, but the model has no drafter`]
  }
  return []
}

function reasoningNotes({ engine, profile, tune }: LaunchRequest): readonly string[] {
  if (engine.dialect === 'llama-server') return []
  const keys = [
    ...((tune.reasoning_effort ?? profile.reasoningEffort) === undefined ? [] : ['reasoning_effort']),
    ...((tune.reasoning_budget ?? profile.reasoningBudget) === undefined ? [] : ['reasoning_budget']),
  ]
  return keys.map((key) => `runner ${engine.key} has no flag for ${key}: it is left out`)
}

function gpuNotes({ device, gpus, env }: LaunchRequest): readonly string[] {
  if (gpus === undefined) return []
  const said = gpus.length === 1 ? `gpu_index ${gpus.join()}` : `GPUs ${gpus.join(', ')}`
  const derived = Object.entries(gpuEnvironment({ device, gpus }))
  if (derived.length === 0) return [`${said} has no meaning on device ${device}`]
  return derived.flatMap(([name, value]) => {
    const own = env[name]
    return own === undefined || own === value ? [] : [`[server] env sets ${name}=${own}, which wins over ${said}`]
  })
}
