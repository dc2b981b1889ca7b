import type { ServerResponse } from 'node:http'
import type { Engine } from './engine.ts'
import { sendJson, sendText } from './http-io.ts'
import { readGenerationSettings } from './rules/generation-settings.ts'
import { metricsText } from './rules/metrics-text.ts'
import { wireSettings } from './rules/wire-settings.ts'

/** A GET route: facts about the engine, answered at once also while it decodes. */
export type InfoRoute = (engine: Engine, response: ServerResponse) => void

const loadedAtS = Math.floor(Date.now() / 1000)

/** GET /v1/models */
export const modelsRoute: InfoRoute = ({ options, loaded }, response) => {
  sendJson(response, 200, {
    object: 'list',
    data: [
      {
        id: options.alias,
        object: 'model',
        created: loadedAtS,
        owned_by: 'llamacpp',
        meta: {
          n_vocab: loaded.vocabulary,
          n_ctx: loaded.windowTokens,
          n_ctx_train: loaded.model.trainContextSize,
          n_embd: loaded.model.embeddingVectorSize,
          size: loaded.model.size,
        },
      },
    ],
  })
}

/** GET /props: what the engine is. Needs the key, so it also proves whose engine this is (SPEC 5). */
export const propsRoute: InfoRoute = ({ options, loaded }, response) => {
  sendJson(response, 200, {
    default_generation_settings: {
      params: wireSettings(readGenerationSettings({}, options.defaults)),
      n_ctx: loaded.windowTokens,
    },
    total_slots: loaded.parallel,
    model_alias: options.alias,
    model_path: options.modelPath,
    modalities: { vision: false, audio: false },
    endpoint_slots: true,
    endpoint_props: false,
    endpoint_metrics: true,
    chat_template: loaded.template.source,
    bos_token: loaded.model.tokens.bosString ?? '',
    eos_token: loaded.model.tokens.eosString ?? '',
    build_info: 'hal0-embedded',
  })
}

/** GET /slots: one row per sequence. */
export const slotsRoute: InfoRoute = ({ loaded, pool }, response) => {
  sendJson(
    response,
    200,
    pool.busy().map((busy, id) => ({ id, n_ctx: loaded.windowTokens, speculative: false, is_processing: busy })),
  )
}

/** GET /metrics */
export const metricsRoute: InfoRoute = ({ counters, pool }, response) => {
  sendText(response, metricsText(counters, pool.busy().filter(Boolean).length, pool.waiting))
}
