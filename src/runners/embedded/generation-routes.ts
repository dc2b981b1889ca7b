import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Token } from 'node-llama-cpp'
import type { Engine } from './engine.ts'
import { generate } from './generate.ts'
import { openEventStream, sendJson } from './http-io.ts'
import { promptTokens, readPrompt } from './prompt-tokens.ts'
import { type AnswerDialect, type AnswerHead, chatDialect, completionDialect, nativeDialect } from './rules/answers.ts'
import { readChatMessages, readTemplateVariables } from './rules/chat-messages.ts'
import { type GenerationSettings, readGenerationSettings } from './rules/generation-settings.ts'
import type { JsonObject } from './rules/read-fields.ts'
import { wireSettings } from './rules/wire-settings.ts'

/** A route that has read its body. */
export type BodyRoute = (
  engine: Engine,
  body: JsonObject,
  response: ServerResponse,
  signal: AbortSignal,
) => Promise<void>

function newHead(engine: Engine, prefix: string): AnswerHead {
  return {
    id: `${prefix}-${randomUUID()}`,
    createdS: Math.floor(Date.now() / 1000),
    model: engine.options.alias,
    fingerprint: 'hal0-embedded',
  }
}

async function answer(
  engine: Engine,
  prompt: readonly Token[],
  settings: GenerationSettings,
  dialect: AnswerDialect,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  if (!settings.stream) {
    let text = ''
    const result = await generate(engine, prompt, settings, signal, async (piece) => {
      text += piece
    })
    return sendJson(response, 200, dialect.whole(text, result))
  }
  const stream = openEventStream(response, signal)
  let opened = false
  const open = async (): Promise<void> => {
    if (opened) return
    opened = true
    if (dialect.opening !== undefined) await stream.send(dialect.opening)
  }
  const result = await generate(engine, prompt, settings, signal, async (text, tokens, predictedTokens) => {
    await open()
    await stream.send(dialect.chunk(text, tokens, predictedTokens, prompt.length))
  })
  await open()
  await stream.send(dialect.closing(result))
  const usageChunk = settings.includeUsage ? dialect.usageChunk(result) : undefined
  if (usageChunk !== undefined) await stream.send(usageChunk)
  if (dialect.endsWithDone) stream.done()
  stream.end()
}

/** POST /v1/chat/completions */
export const chatCompletions: BodyRoute = async (engine, body, response, signal) => {
  const settings = readGenerationSettings(body, engine.options.defaults)
  const prompt = promptTokens(engine.loaded, renderChat(engine, body))
  await answer(engine, prompt, settings, chatDialect(newHead(engine, 'chatcmpl')), response, signal)
}

/** POST /v1/completions */
export const completions: BodyRoute = async (engine, body, response, signal) => {
  const settings = readGenerationSettings(body, engine.options.defaults)
  const prompt = readPrompt(engine.loaded, body['prompt'])
  await answer(engine, prompt, settings, completionDialect(newHead(engine, 'cmpl')), response, signal)
}

/** POST /completion */
export const nativeCompletion: BodyRoute = async (engine, body, response, signal) => {
  const settings = readGenerationSettings(body, engine.options.defaults)
  const prompt = readPrompt(engine.loaded, body['prompt'])
  const echo = { generation_settings: wireSettings(settings), prompt: engine.loaded.model.detokenize(prompt, true) }
  await answer(engine, prompt, settings, nativeDialect(newHead(engine, 'cmpl'), echo), response, signal)
}

/** The prompt text of a chat request. Errors: 400. */
export function renderChat(engine: Engine, body: JsonObject): string {
  const variables = { ...engine.options.templateVariables, ...readTemplateVariables(body) }
  return engine.loaded.template.render(readChatMessages(body), variables)
}
