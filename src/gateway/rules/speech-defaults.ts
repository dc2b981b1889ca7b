import { parseJson } from '../../kernel/read-json.ts'

/** What a slot speaks with where a request does not say; undefined = the engine's own default. Source: SPEC 3. */
export interface SpeechDefaults {
  readonly voice?: string | undefined
  readonly speed?: number | undefined
  readonly response_format?: string | undefined
}

/**
 * The pairs that are to be put into a request for speech, as JSON text without braces; empty = it says everything, or the slot nothing. A key
 * that the client sent is the client's, whatever it holds.
 */
export function missingSpeechPairs(text: string, defaults: SpeechDefaults): readonly string[] {
  const wanted = Object.entries(defaults).filter(([, value]) => value !== undefined)
  if (wanted.length === 0) return []
  const asked = parseJson(text)
  if (typeof asked !== 'object' || asked === null) return []
  return wanted.filter(([key]) => !(key in asked)).map(([key, value]) => `"${key}":${JSON.stringify(value)}`)
}
