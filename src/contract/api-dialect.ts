/**
 * Whose API a client speaks: it decides the shape of errors and of the last event of a stream that breaks off, where `model` stands in
 * an answer, and how a complete stream ends. `openai`: chat, completions and every JSON route without a dialect of its own; its errors are
 * those of `responses` too. Not the dialect of an engine's command line (contract/runner.ts). Source: SPEC 11, 16.
 */
export const API_DIALECTS = ['openai', 'responses', 'anthropic'] as const
export type ApiDialect = (typeof API_DIALECTS)[number]
