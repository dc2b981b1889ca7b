/** How an answer ended: the model's own end, a stop text, or a limit (max_tokens, the window). */
export type StopType = 'eos' | 'word' | 'limit'

/** What an answer says about itself apart from its text, in tokens and ms. `predictedTokens` counts the end token too, as llama-server does. */
export interface AnswerFacts {
  readonly sequenceId: number
  readonly promptTokens: number
  readonly cachedTokens: number
  readonly predictedTokens: number
  readonly promptMs: number
  readonly predictedMs: number
  readonly stopType: StopType
  readonly stoppingWord: string
  /** The window was full before the answer ended. */
  readonly truncated: boolean
}

/** What all parts of one answer share. */
export interface AnswerHead {
  readonly id: string
  /** Epoch seconds. */
  readonly createdS: number
  readonly model: string
  readonly fingerprint: string
}

type Wire = Readonly<Record<string, unknown>>

function head(answer: AnswerHead, object: string): Wire {
  return {
    id: answer.id,
    object,
    created: answer.createdS,
    model: answer.model,
    system_fingerprint: answer.fingerprint,
  }
}

export function finishReason(facts: AnswerFacts): 'stop' | 'length' {
  return facts.stopType === 'limit' ? 'length' : 'stop'
}

export function usage(facts: AnswerFacts): Wire {
  return {
    completion_tokens: facts.predictedTokens,
    prompt_tokens: facts.promptTokens,
    total_tokens: facts.promptTokens + facts.predictedTokens,
    prompt_tokens_details: { cached_tokens: facts.cachedTokens },
  }
}

/** llama-server's `timings`; rates are 0 where nothing was measured. */
export function timings(facts: AnswerFacts): Wire {
  const promptTokens = facts.promptTokens - facts.cachedTokens
  const rate = (tokens: number, ms: number): number => (ms > 0 ? (tokens * 1000) / ms : 0)
  const each = (tokens: number, ms: number): number => (tokens > 0 ? ms / tokens : 0)
  return {
    cache_n: facts.cachedTokens,
    prompt_n: promptTokens,
    prompt_ms: facts.promptMs,
    prompt_per_token_ms: each(promptTokens, facts.promptMs),
    prompt_per_second: rate(promptTokens, facts.promptMs),
    predicted_n: facts.predictedTokens,
    predicted_ms: facts.predictedMs,
    predicted_per_token_ms: each(facts.predictedTokens, facts.predictedMs),
    predicted_per_second: rate(facts.predictedTokens, facts.predictedMs),
  }
}

/** How one route words its answer. `undefined` = the route sends nothing at that point. */
export interface AnswerDialect {
  whole(text: string, facts: AnswerFacts): Wire
  /** Sent before the first text. */
  opening: Wire | undefined
  chunk(text: string, tokens: readonly number[], predictedTokens: number, promptTokens: number): Wire
  closing(facts: AnswerFacts): Wire
  /** The chunk of its own that `stream_options.include_usage` asks for. */
  usageChunk(facts: AnswerFacts): Wire | undefined
  /** Whether `[DONE]` ends the stream. */
  readonly endsWithDone: boolean
}

/** `/v1/chat/completions` */
export function chatDialect(answer: AnswerHead): AnswerDialect {
  const part = (delta: Wire, finish: string | null): Wire => ({
    choices: [{ finish_reason: finish, index: 0, delta }],
    ...head(answer, 'chat.completion.chunk'),
  })
  return {
    whole: (text, facts) => ({
      choices: [{ finish_reason: finishReason(facts), index: 0, message: { role: 'assistant', content: text } }],
      ...head(answer, 'chat.completion'),
      usage: usage(facts),
      timings: timings(facts),
    }),
    opening: part({ role: 'assistant', content: null }, null),
    chunk: (text) => part({ content: text }, null),
    closing: (facts) => ({ ...part({}, finishReason(facts)), timings: timings(facts) }),
    usageChunk: (facts) => ({
      choices: [],
      ...head(answer, 'chat.completion.chunk'),
      usage: usage(facts),
      timings: timings(facts),
    }),
    endsWithDone: true,
  }
}

/** `/v1/completions` */
export function completionDialect(answer: AnswerHead): AnswerDialect {
  const part = (text: string, finish: string | null): Wire => ({
    choices: [{ text, index: 0, logprobs: null, finish_reason: finish }],
    ...head(answer, 'text_completion'),
  })
  const ending = (text: string, facts: AnswerFacts): Wire => ({
    ...part(text, finishReason(facts)),
    usage: usage(facts),
    timings: timings(facts),
  })
  return {
    whole: ending,
    opening: undefined,
    chunk: (text) => part(text, null),
    closing: (facts) => ending('', facts),
    usageChunk: () => undefined,
    endsWithDone: true,
  }
}

/** `/completion`, llama-server's own route. `echo`: facts of the request that the last part repeats. */
export function nativeDialect(answer: AnswerHead, echo: Wire): AnswerDialect {
  const ending = (text: string, facts: AnswerFacts): Wire => ({
    index: 0,
    content: text,
    tokens: [],
    id_slot: facts.sequenceId,
    stop: true,
    model: answer.model,
    tokens_predicted: facts.predictedTokens,
    tokens_evaluated: facts.promptTokens,
    ...echo,
    has_new_line: text.includes('\n'),
    truncated: facts.truncated,
    stop_type: facts.stopType,
    stopping_word: facts.stoppingWord,
    tokens_cached: Math.max(0, facts.promptTokens + facts.predictedTokens - 1),
    timings: timings(facts),
  })
  return {
    whole: ending,
    opening: undefined,
    chunk: (text, tokens, predictedTokens, promptTokens) => ({
      index: 0,
      content: text,
      tokens,
      stop: false,
      id_slot: -1,
      tokens_predicted: predictedTokens,
      tokens_evaluated: promptTokens,
    }),
    closing: (facts) => ending('', facts),
    usageChunk: () => undefined,
    endsWithDone: false,
  }
}
