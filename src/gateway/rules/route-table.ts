import type { ApiDialect } from '../../contract/api-dialect.ts'
import type { EngineRoute } from '../../contract/engine-route.ts'
import type { SlotType } from '../../contract/slot-row.ts'

/** A POST route that an engine answers. Source: SPEC 11. */
export interface InferenceRoute {
  /** As clients know it. */
  readonly path: string
  /** As engines know it. */
  readonly enginePath: EngineRoute
  /** The type of slot that answers it when no name decides. */
  readonly needs: SlotType
  readonly dialect: ApiDialect
  /** `form` = multipart/form-data. */
  readonly body: 'json' | 'form'
  /** `text`: JSON or an event stream, which carries `model`. `media`: whatever the engine calls it, passed as it is. */
  readonly answer: 'text' | 'media'
  /** Requests are short, and what the slot's file says of speech stands in for what they leave out (voice, speed, format). */
  readonly speaks: boolean
  /** Its engines know `chat_template_kwargs`. */
  readonly knowsThinking: boolean
  /** Its streams tell their usage only when asked: `stream_options.include_usage`. */
  readonly asksForUsage: boolean
}

const TEXT = {
  needs: 'llm',
  dialect: 'openai',
  body: 'json',
  answer: 'text',
  speaks: false,
  knowsThinking: false,
  asksForUsage: false,
} as const

/** Painted by ComfyUI, or forwarded to an engine that has this route itself; not one of `INFERENCE_ROUTES`. Source: SPEC 8, 11. */
export const IMAGES_ROUTE: InferenceRoute = {
  ...TEXT,
  path: '/v1/images/generations',
  enginePath: '/v1/images/generations',
  needs: 'image',
}
export const IMAGES_PATH = IMAGES_ROUTE.path

export const INFERENCE_ROUTES: readonly InferenceRoute[] = [
  {
    ...TEXT,
    path: '/v1/chat/completions',
    enginePath: '/v1/chat/completions',
    knowsThinking: true,
    asksForUsage: true,
  },
  { ...TEXT, path: '/v1/completions', enginePath: '/v1/completions', asksForUsage: true },
  { ...TEXT, path: '/v1/responses', enginePath: '/v1/responses', dialect: 'responses' },
  { ...TEXT, path: '/v1/messages', enginePath: '/v1/messages', dialect: 'anthropic' },
  { ...TEXT, path: '/v1/messages/count_tokens', enginePath: '/v1/messages/count_tokens', dialect: 'anthropic' },
  { ...TEXT, path: '/v1/embeddings', enginePath: '/v1/embeddings', needs: 'embedding' },
  { ...TEXT, path: '/v1/rerank', enginePath: '/v1/rerank', needs: 'reranking' },
  { ...TEXT, path: '/v1/rerankings', enginePath: '/v1/rerank', needs: 'reranking' },
  { ...TEXT, path: '/v1/audio/speech', enginePath: '/v1/audio/speech', needs: 'tts', answer: 'media', speaks: true },
  {
    ...TEXT,
    path: '/v1/audio/transcriptions',
    enginePath: '/v1/audio/transcriptions',
    needs: 'transcription',
    body: 'form',
    answer: 'media',
  },
  { ...TEXT, path: '/v1/tokenize', enginePath: '/tokenize' },
]

const BY_PATH: ReadonlyMap<string, InferenceRoute> = new Map(INFERENCE_ROUTES.map((route) => [route.path, route]))

/** Undefined = no inference route has this path (without query, without trailing slash). */
export function inferenceRouteOf(path: string): InferenceRoute | undefined {
  return BY_PATH.get(path)
}
