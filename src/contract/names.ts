import { z } from 'zod'

/** Names of slots, aliases, lanes and profiles. Source: SPEC 3. */
export const NAME_PATTERN = /^[a-z0-9][a-z0-9_-]{0,31}$/

/** `NAME_PATTERN` in words, for messages. */
export const NAME_RULE = '1 to 32 of a-z 0-9 _ -, starting with a letter or digit'

export const nameSchema = z.string().regex(NAME_PATTERN, `expected ${NAME_RULE}`)

/** Ids in models.toml. */
export const MODEL_ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$/

/** `MODEL_ID_PATTERN` in words, for messages. */
export const MODEL_ID_RULE = 'a model id of 1 to 128 letters, digits and . _ : / -, starting with a letter or digit'

/** What no line of text for people may hold: control characters, and marks that turn the direction of what follows. */
const UNSHOWABLE = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u

/** Can it stand in a line, a mail's subject and a table as it is? */
export function isShowable(text: string): boolean {
  return !UNSHOWABLE.test(text)
}

/** `isShowable` in words, for messages. */
export const SHOWABLE_RULE = 'one line of text, without control characters and marks of direction'
