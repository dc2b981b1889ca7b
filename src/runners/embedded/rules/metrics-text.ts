/** Counters of one engine process. Tokens count as they are made, so an abort shows as a counter that stands still. */
export interface EngineCounters {
  promptTokens: number
  cachedPromptTokens: number
  promptMs: number
  predictedTokens: number
  predictedMs: number
  /** Longest sequence seen, in tokens. */
  longestTokens: number
}

export function zeroCounters(): EngineCounters {
  return {
    promptTokens: 0,
    cachedPromptTokens: 0,
    promptMs: 0,
    predictedTokens: 0,
    predictedMs: 0,
    longestTokens: 0,
  }
}

const perSecond = (count: number, ms: number): number => (ms > 0 ? (count * 1000) / ms : 0)

/** `/metrics` in the Prometheus text format, with llama-server's names. `processing` and `waiting` count requests. */
export function metricsText(counters: EngineCounters, processing: number, waiting: number): string {
  const c = counters
  const rows: readonly (readonly [string, 'counter' | 'gauge', number, string])[] = [
    ['prompt_tokens_total', 'counter', c.promptTokens, 'Prompt tokens processed, without those reused from the cache'],
    ['prompt_tokens_cached_total', 'counter', c.cachedPromptTokens, 'Prompt tokens reused from the cache'],
    ['prompt_seconds_total', 'counter', c.promptMs / 1000, 'Time spent on prompts'],
    ['tokens_predicted_total', 'counter', c.predictedTokens, 'Tokens generated'],
    ['tokens_predicted_seconds_total', 'counter', c.predictedMs / 1000, 'Time spent generating'],
    ['n_tokens_max', 'counter', c.longestTokens, 'Longest sequence so far, prompt and answer'],
    ['prompt_tokens_seconds', 'gauge', perSecond(c.promptTokens, c.promptMs), 'Mean prompt tokens per second'],
    [
      'predicted_tokens_seconds',
      'gauge',
      perSecond(c.predictedTokens, c.predictedMs),
      'Mean generated tokens per second',
    ],
    ['requests_processing', 'gauge', processing, 'Requests that are being decoded'],
    ['requests_deferred', 'gauge', waiting, 'Requests that wait for a sequence'],
  ]
  return rows
    .map(([name, type, value, help]) => {
      const full = `llamacpp:${name}`
      return `# HELP ${full} ${help}\n# TYPE ${full} ${type}\n${full} ${value}\n`
    })
    .join('')
}
