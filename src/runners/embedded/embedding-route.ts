import type { Token } from 'node-llama-cpp'
import { createEmbedder, type Embedder } from './embeddings.ts'
import type { Engine } from './engine.ts'
import type { BodyRoute } from './generation-routes.ts'
import { sendJson } from './http-io.ts'
import type { LoadedModel } from './load-model.ts'
import { promptTokens } from './prompt-tokens.ts'
import { badRequest } from './rules/engine-error.ts'
import { type JsonObject, tokenList } from './rules/read-fields.ts'

function readInputs(loaded: LoadedModel, body: JsonObject): readonly Token[][] {
  const input = body['input'] ?? body['content']
  if (input === undefined || input === null) throw badRequest("'input' is required")
  const single = typeof input === 'string' || (Array.isArray(input) && typeof input[0] === 'number')
  const list: readonly unknown[] = single ? [input] : Array.isArray(input) ? input : []
  if (list.length === 0) throw badRequest("'input' must be a string, an array of strings, or token ids")
  return list.map((one) => {
    const tokens =
      typeof one === 'string' ? promptTokens(loaded, one) : (tokenList(one, 'input', loaded.vocabulary) as Token[])
    if (tokens.length === 0) throw badRequest("'input' must not be empty")
    return tokens
  })
}

function readFormat(body: JsonObject): 'float' | 'base64' {
  const format = body['encoding_format'] ?? 'float'
  if (format !== 'float' && format !== 'base64') throw badRequest('\'encoding_format\' must be "float" or "base64"')
  if (body['dimensions'] !== undefined && body['dimensions'] !== null) {
    throw badRequest("'dimensions' is not supported by the embedded engine; leave it out")
  }
  return format
}

/** OpenAI's base64 form: little-endian 32-bit floats. */
function toBase64(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4)
  vector.forEach((value, at) => {
    bytes.writeFloatLE(value, at * 4)
  })
  return bytes.toString('base64')
}

/** POST /v1/embeddings */
export function createEmbeddingRoute(): BodyRoute {
  const embedders = new WeakMap<Engine, Embedder>()
  return async (engine, body, response, signal) => {
    const format = readFormat(body)
    const inputs = readInputs(engine.loaded, body)
    const embedder = embedders.get(engine) ?? createEmbedder(engine)
    embedders.set(engine, embedder)
    const data: unknown[] = []
    let tokens = 0
    for (const [index, input] of inputs.entries()) {
      signal.throwIfAborted()
      const vector = await embedder.embed(input)
      tokens += input.length
      data.push({ object: 'embedding', index, embedding: format === 'base64' ? toBase64(vector) : vector })
    }
    sendJson(response, 200, {
      object: 'list',
      data,
      model: engine.options.alias,
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    })
  }
}
