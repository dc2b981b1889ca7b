import type { EngineHelp } from '../../contract/runner.ts'
import type { Device } from '../../contract/slot-row.ts'
import {
  type DerivedFlag,
  type DerivedLayers,
  dispensable,
  ENGINE_HOST,
  type LaunchChoices,
  needed,
} from './derived-layers.ts'
import type { LaunchRequest } from './launch-request.ts'

/** Kinds of n-gram lookup by preference; older builds have only the later ones. */
const NGRAM_TYPES = ['ngram-mod', 'ngram-simple', 'ngram-cache'] as const

/** What hal0 adds to a command of the llama-server dialect. Source: SPEC 9, layers 1 to 4. */
export function llamaServerLayers(request: LaunchRequest, choices: LaunchChoices): DerivedLayers {
  return {
    base: baseLayer(request, choices),
    model: modelLayer(request, choices),
    profile: [...draftBundle(request, choices), ...reasoningFlags(request.profile, choices)],
    slot: slotLayer(request, choices),
  }
}

function baseLayer({ port, model, slot }: LaunchRequest, { ctx }: LaunchChoices): readonly DerivedFlag[] {
  return [
    needed('--host', ENGINE_HOST),
    needed('--port', String(port)),
    ...(model === undefined ? [] : [needed('--model', model.path)]),
    needed('--alias', slot),
    needed('--ctx-size', String(ctx.ctxTokens)),
  ]
}

function modelLayer(request: LaunchRequest, { isPooled, hasVision }: LaunchChoices): readonly DerivedFlag[] {
  const { model, engine } = request
  if (isPooled) return poolingFlags(request)
  const template = model?.chatTemplate ?? null
  const mmproj = model?.mmproj ?? null
  const flags: DerivedFlag[] = []
  if (template !== null) flags.push(needed('--chat-template-file', template))
  if (mmproj !== null && hasVision) flags.push(dispensable('--mmproj', mmproj))
  if (model?.jinja === false) {
    // Newer builds use the template engine unless told not to; older ones do not know the word.
    if (engine.help?.flags.has('--no-jinja') === true) flags.push(dispensable('--no-jinja'))
  } else if (engine.abilities.jinja) {
    flags.push(dispensable('--jinja'))
  }
  return flags
}

/**
 * A language model that is to embed says nothing of pooling; llama-server then takes none, refuses `/v1/embeddings`, and some builds die of the next
 * chat. The last token has seen the whole text. A profile's own `--pooling` replaces it.
 */
function poolingFlags({ model, type }: LaunchRequest): readonly DerivedFlag[] {
  const isUnsaid = model?.pooling === null || model?.pooling === 'none'
  return type === 'embedding' && isUnsaid ? [dispensable('--pooling', 'last')] : []
}

/** The way of speculating by name; builds that choose it by the draft model alone have no name for it. */
function specType(type: string, help: EngineHelp | undefined): readonly DerivedFlag[] {
  const choices = help?.flags.get('--spec-type')?.choices ?? []
  return choices.length > 0 && !choices.includes(type) ? [] : [dispensable('--spec-type', type)]
}

function draftBundle({ model, engine }: LaunchRequest, { speculation }: LaunchChoices): readonly DerivedFlag[] {
  switch (speculation.mode) {
    case 'drafter':
      if (model === undefined || model.drafter === null) return []
      return [...specType('draft-simple', engine.help), needed('--spec-draft-model', model.drafter)]
    case 'mtp':
      return specType('draft-mtp', engine.help)
    case 'ngram': {
      const choices: readonly string[] = engine.help?.flags.get('--spec-type')?.choices ?? []
      return specType(NGRAM_TYPES.find((type) => choices.includes(type)) ?? NGRAM_TYPES[0], engine.help)
    }
    case 'off':
      return []
  }
}

/** What a profile and `[tune]` say in keys of their own about reasoning. */
function reasoningFlags(
  { reasoningEffort, reasoningBudget }: Pick<LaunchRequest['profile'], 'reasoningEffort' | 'reasoningBudget'>,
  { isPooled }: LaunchChoices,
): readonly DerivedFlag[] {
  if (isPooled) return []
  return [
    ...(reasoningEffort === undefined ? [] : [needed('--reasoning-effort', reasoningEffort)]),
    ...(reasoningBudget === undefined ? [] : [needed('--reasoning-budget', String(reasoningBudget))]),
  ]
}

function slotLayer(request: LaunchRequest, choices: LaunchChoices): readonly DerivedFlag[] {
  const { nGpuLayers, threads, device, tune } = request
  const flags: DerivedFlag[] = []
  if (nGpuLayers >= 0) flags.push(needed('-ngl', String(nGpuLayers)))
  if (threads > 0) flags.push(needed('--threads', String(threads)))
  flags.push(dispensable('--metrics'))
  if (choices.unsaidMode !== undefined) flags.push(needed(`--${choices.unsaidMode}`))
  const { mode } = choices.speculation
  const draftDevice = mode === 'drafter' || mode === 'mtp' ? draftDeviceOf(device) : undefined
  if (draftDevice !== undefined) flags.push(dispensable('--spec-draft-device', draftDevice))
  const reasoning = { reasoningEffort: tune.reasoning_effort, reasoningBudget: tune.reasoning_budget }
  return [...flags, ...reasoningFlags(reasoning, choices)]
}

/** The first device of the slot's kind, as llama.cpp counts those that the process sees: a drafter is small and stays on one. */
function draftDeviceOf(device: Device): string | undefined {
  switch (device) {
    case 'gpu-rocm':
      return 'ROCm0'
    case 'gpu-vulkan':
      return 'Vulkan0'
    case 'gpu-cuda':
      return 'CUDA0'
    case 'cpu':
      return 'none'
    case 'npu':
      return undefined
  }
}
