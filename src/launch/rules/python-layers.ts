import type { EngineHelp } from '../../contract/runner.ts'
import type { SlotType } from '../../contract/slot-row.ts'
import {
  type DerivedFlag,
  type DerivedLayers,
  dispensable,
  ENGINE_HOST,
  type LaunchChoices,
  needed,
} from './derived-layers.ts'
import type { LaunchRequest } from './launch-request.ts'

/** Tokens drafted at once, as vLLM's own documentation starts with; a profile's `--speculative-config` replaces them. */
const VLLM_DRAFT_TOKENS = 5
const VLLM_MTP_TOKENS = 1
/** Longest n-gram that is looked up. */
const VLLM_NGRAM_MAX = 4

/** What hal0 adds to `vllm serve`. The model is its positional argument and stands first. Source: SPEC 9. */
export function vllmLayers({ slot, port, model, type, engine }: LaunchRequest, choices: LaunchChoices): DerivedLayers {
  return {
    base: [
      ...(model === undefined ? [] : [needed('', model.path)]),
      needed('--host', ENGINE_HOST),
      needed('--port', String(port)),
      needed('--served-model-name', slot),
      needed('--max-model-len', String(choices.ctx.ctxTokens)),
    ],
    model: [...templateFlags(model, choices), ...vllmPooling(type, engine.help)],
    profile: vllmDraft(model, choices),
    slot: [],
  }
}

/**
 * A pooled vLLM has to be told so: most embedding models are language models by their architecture. Newer ones have `--runner`, older ones
 * `--task`; one whose help cannot be read decides by itself.
 */
function vllmPooling(type: SlotType, help: EngineHelp | undefined): readonly DerivedFlag[] {
  if (type !== 'embedding' && type !== 'reranking') return []
  if (help?.flags.has('--runner') === true) return [dispensable('--runner', 'pooling')]
  const tasks = help?.flags.get('--task')?.choices ?? []
  const task = type === 'reranking' ? 'score' : 'embed'
  return tasks.includes(task) ? [dispensable('--task', task)] : []
}

function templateFlags(model: LaunchRequest['model'], { isPooled }: LaunchChoices): readonly DerivedFlag[] {
  const template = model?.chatTemplate ?? null
  return template === null || isPooled ? [] : [needed('--chat-template', template)]
}

function vllmDraft(model: LaunchRequest['model'], { speculation }: LaunchChoices): readonly DerivedFlag[] {
  const config = vllmDraftConfig(model, speculation.mode)
  return config === undefined ? [] : [dispensable('--speculative-config', JSON.stringify(config))]
}

function vllmDraftConfig(model: LaunchRequest['model'], mode: LaunchChoices['speculation']['mode']) {
  switch (mode) {
    case 'drafter':
      if (model === undefined || model.drafter === null) return undefined
      return { method: 'draft_model', model: model.drafter, num_speculative_tokens: VLLM_DRAFT_TOKENS }
    case 'mtp':
      return { method: 'mtp', num_speculative_tokens: VLLM_MTP_TOKENS }
    case 'ngram':
      return { method: 'ngram', num_speculative_tokens: VLLM_DRAFT_TOKENS, prompt_lookup_max: VLLM_NGRAM_MAX }
    case 'off':
      return undefined
  }
}

/** What hal0 adds to SGLang's server. Source: SPEC 9. */
export function sglangLayers({ slot, port, model, type }: LaunchRequest, choices: LaunchChoices): DerivedLayers {
  return {
    base: [
      ...(model === undefined ? [] : [needed('--model-path', model.path)]),
      needed('--host', ENGINE_HOST),
      needed('--port', String(port)),
      needed('--served-model-name', slot),
      needed('--context-length', String(choices.ctx.ctxTokens)),
    ],
    model: templateFlags(model, choices),
    profile: sglangDraft(model, choices),
    slot: [...(type === 'embedding' ? [needed('--is-embedding')] : []), dispensable('--enable-metrics')],
  }
}

function sglangDraft(model: LaunchRequest['model'], { speculation }: LaunchChoices): readonly DerivedFlag[] {
  switch (speculation.mode) {
    case 'drafter':
      if (model === undefined || model.drafter === null) return []
      return [
        dispensable('--speculative-algorithm', 'STANDALONE'),
        needed('--speculative-draft-model-path', model.drafter),
      ]
    case 'mtp':
      return [dispensable('--speculative-algorithm', 'NEXTN')]
    case 'ngram':
      return [dispensable('--speculative-algorithm', 'NGRAM')]
    case 'off':
      return []
  }
}
