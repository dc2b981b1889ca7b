/** `error.type` values of llama-server's dialect. */
export type EngineErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'not_found_error'
  | 'not_supported_error'
  | 'unavailable_error'
  | 'exceed_context_size_error'
  | 'server_error'

/** A refusal in the engine's own dialect (not hal0's): what llama-server answers in the same situation. */
export class EngineError extends Error {
  readonly status: number
  readonly type: EngineErrorType
  /** Further members of the `error` object. */
  readonly facts: Readonly<Record<string, number>>

  constructor(status: number, type: EngineErrorType, message: string, facts: Readonly<Record<string, number>> = {}) {
    super(message)
    this.status = status
    this.type = type
    this.facts = facts
  }

  /** The body on the wire. */
  body(): { readonly error: Readonly<Record<string, unknown>> } {
    return { error: { code: this.status, message: this.message, type: this.type, ...this.facts } }
  }
}

/** 400: the request is wrong as it stands. */
export function badRequest(message: string): EngineError {
  return new EngineError(400, 'invalid_request_error', message)
}

/** 400: the prompt fills the whole window. `promptTokens` may be a lower bound for absurdly long texts. */
export function promptTooLong(promptTokens: number, windowTokens: number): EngineError {
  return new EngineError(
    400,
    'exceed_context_size_error',
    `request (${promptTokens} tokens) exceeds the available context size (${windowTokens} tokens), try increasing it`,
    { n_prompt_tokens: promptTokens, n_ctx: windowTokens },
  )
}
