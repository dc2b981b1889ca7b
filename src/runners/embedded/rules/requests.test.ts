import { describe, expect, it } from 'vitest'
import { readChatMessages, readTemplateVariables } from './chat-messages.ts'
import { EngineError } from './engine-error.ts'
import { DEFAULT_SAMPLING, readGenerationSettings } from './generation-settings.ts'
import { asObject, tokenList } from './read-fields.ts'

const PLAIN = { sampling: DEFAULT_SAMPLING, maxTokens: -1 }
const DEFAULTS = {
  sampling: DEFAULT_SAMPLING,
  maxTokens: -1,
  stop: [],
  ignoreEos: false,
  cachePrompt: true,
  stream: false,
  includeUsage: false,
}

/** The message of the 400 that `read` throws. */
function refusal(read: () => unknown): string {
  try {
    read()
  } catch (error) {
    if (error instanceof EngineError && error.status === 400) return error.message
    throw error
  }
  return 'not refused'
}

describe('readGenerationSettings', () => {
  it.each([
    ['nothing', {}, {}],
    ['null for absent', { temperature: null, stop: null, max_tokens: null, stream: null, stream_options: null }, {}],
    [
      'values that ask for nothing',
      { n: 1, logprobs: false, tools: [], response_format: { type: 'text' }, echo: false },
      {},
    ],
    ['max_tokens', { max_tokens: 5 }, { maxTokens: 5 }],
    ['max_completion_tokens before max_tokens', { max_tokens: 5, max_completion_tokens: 6 }, { maxTokens: 6 }],
    ['n_predict -1', { n_predict: -1 }, { maxTokens: -1 }],
    ['one stop text', { stop: 'x' }, { stop: ['x'] }],
    ['several, without empty ones', { stop: ['x', '', 'y'] }, { stop: ['x', 'y'] }],
    ['streaming', { stream: true, stream_options: { include_usage: true } }, { stream: true, includeUsage: true }],
    ['a seed', { seed: 7 }, { sampling: { ...DEFAULT_SAMPLING, seed: 7 } }],
    ['a seed to be drawn', { seed: -1 }, {}],
    ['sampling', { temperature: 0, top_k: 1 }, { sampling: { ...DEFAULT_SAMPLING, temperature: 0, topK: 1 } }],
  ])('reads %s', (_what, body, expected) => {
    expect(readGenerationSettings(body, PLAIN)).toEqual({ ...DEFAULTS, ...expected })
  })

  const FLAGGED = { sampling: { ...DEFAULT_SAMPLING, temperature: 0.2, seed: 7 }, maxTokens: 9 }
  it.each([
    ['nothing', {}, FLAGGED],
    ['null', { temperature: null, seed: null, max_tokens: null }, FLAGGED],
    ['a temperature', { temperature: 1 }, { ...FLAGGED, sampling: { ...FLAGGED.sampling, temperature: 1 } }],
    ['a drawn seed', { seed: -1 }, { ...FLAGGED, sampling: { ...FLAGGED.sampling, seed: undefined } }],
    ['a length', { max_tokens: 100 }, { ...FLAGGED, maxTokens: 100 }],
    ['no length of its own', { max_tokens: -1 }, FLAGGED],
  ])('falls back to the defaults of the command line for what a request does not say: %s', (_what, body, expected) => {
    expect(readGenerationSettings(body, FLAGGED)).toMatchObject(expected)
  })

  it.each([
    ['n', { n: 2 }],
    ['logprobs', { logprobs: 0 }],
    ['tools', { tools: [{}] }],
    ['grammar', { grammar: 'root ::= "a"' }],
    ['logit_bias', { logit_bias: { 5: 1 } }],
    ['temperature', { temperature: '1' }],
    ['top_p', { top_p: 1.5 }],
    ['top_k', { top_k: 1.5 }],
    ['max_tokens', { max_tokens: 'many' }],
    ['stop', { stop: [1] }],
    ['stream', { stream: 'yes' }],
    ['stream_options', { stream_options: true }],
  ])('refuses %s, naming it', (key, body) => {
    expect(refusal(() => readGenerationSettings(body, PLAIN))).toContain(`'${key}'`)
  })
})

describe('readChatMessages', () => {
  it('joins text parts by lines and keeps further members', () => {
    const parts = [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ]
    expect(
      readChatMessages({
        messages: [
          { role: 'user', content: parts, name: 'me' },
          { role: 'assistant', content: null },
        ],
      }),
    ).toEqual([
      { role: 'user', content: 'a\nb', name: 'me' },
      { role: 'assistant', content: '' },
    ])
  })

  it.each([
    ["'messages' is required", {}],
    ['to be an array', { messages: {} }],
    ['at least one', { messages: [] }],
    ["'messages[0]'", { messages: ['hi'] }],
    ["'messages[1].role'", { messages: [{ role: 'user', content: '' }, { content: 'x' }] }],
    ["'messages[0].content'", { messages: [{ role: 'user', content: 5 }] }],
    ['has type "image_url"', { messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }],
    ['has type none', { messages: [{ role: 'user', content: ['x'] }] }],
  ])('refuses with %s', (message, body) => {
    expect(refusal(() => readChatMessages(body))).toContain(message)
  })

  it('takes template variables as an object only', () => {
    expect(readTemplateVariables({ chat_template_kwargs: { enable_thinking: false } })).toEqual({
      enable_thinking: false,
    })
    expect(readTemplateVariables({})).toEqual({})
    expect(refusal(() => readTemplateVariables({ chat_template_kwargs: [] }))).toContain('chat_template_kwargs')
  })
})

describe('fields', () => {
  it.each([[null], [[]], ['x'], [5]])('refuses a body that is no object: %j', (body) => {
    expect(refusal(() => asObject(body))).toContain('JSON object')
  })

  it.each([
    [[0, 511], 'not refused'],
    [[512], '0 to 511'],
    [[-1], '0 to 511'],
    [['a'], '0 to 511'],
    ['x', 'array'],
  ])('takes token ids of the vocabulary only: %j', (tokens, message) => {
    expect(refusal(() => tokenList(tokens, 'tokens', 512))).toContain(message)
  })
})
