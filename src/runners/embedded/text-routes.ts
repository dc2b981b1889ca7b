import type { Token } from 'node-llama-cpp'
import { type BodyRoute, renderChat } from './generation-routes.ts'
import { sendJson } from './http-io.ts'
import { tokenize, withBounds } from './prompt-tokens.ts'
import { badRequest } from './rules/engine-error.ts'
import { booleanField, tokenList } from './rules/read-fields.ts'

/** POST /tokenize: `{content, add_special = false, parse_special = true, with_pieces = false}` → `{tokens}` */
export const tokenizeRoute: BodyRoute = async (engine, body, response) => {
  const content = body['content'] ?? ''
  if (typeof content !== 'string') throw badRequest("'content' must be a string")
  const plain = tokenize(engine.loaded, content, booleanField(body, 'parse_special', true))
  const tokens = booleanField(body, 'add_special', false) ? withBounds(engine.loaded, plain) : plain
  const pieces = booleanField(body, 'with_pieces', false)
  const { model } = engine.loaded
  sendJson(response, 200, {
    tokens: pieces ? tokens.map((id) => ({ id, piece: model.detokenize([id], true) })) : tokens,
  })
}

/** POST /detokenize: `{tokens}` → `{content}` */
export const detokenizeRoute: BodyRoute = async (engine, body, response) => {
  const tokens = tokenList(body['tokens'] ?? [], 'tokens', engine.loaded.vocabulary) as Token[]
  sendJson(response, 200, { content: engine.loaded.model.detokenize(tokens, true) })
}

/** POST /apply-template: the prompt text that these messages become. */
export const applyTemplateRoute: BodyRoute = async (engine, body, response) => {
  sendJson(response, 200, { prompt: renderChat(engine, body) })
}
