import type { KwargsValue, ModelValue } from './top-level-facts.ts'

/** What the gateway needs to know of a request body. Offsets are bytes from the start of the text, a byte order mark not counted. */
export interface BodyFacts {
  /** `absent` = no such key. */
  readonly model: ModelValue | { readonly kind: 'absent' }
  /** The top-level `chat_template_kwargs`; `absent` = no such key. */
  readonly kwargs: KwargsValue | { readonly kind: 'absent' }
  /** The top-level `stream` is `true`. */
  readonly stream: boolean
  /** Is there a top-level `stream_options`, whatever it holds? */
  readonly streamOptions: 'absent' | 'present'
  /** Just behind the opening `{`: where a key can be put. */
  readonly objectAt: number
  readonly hasKeys: boolean
}

/** No such key. */
export const ABSENT = { kind: 'absent' } as const
