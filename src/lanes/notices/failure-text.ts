import { messageOf } from '../../kernel/errors.ts'
import { shortText } from '../../kernel/short-text.ts'

const MAX_CHARS = 300

/** Why nothing could be sent, for the log, the table and events: `secrets` (undefined ones aside) are taken out, in base64 too. */
export function failureText(thrown: unknown, secrets: readonly (string | undefined)[]): string {
  let text = describe(thrown)
  for (const secret of secrets) {
    if (secret === undefined || secret === '') continue
    for (const form of [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64')]) {
      text = text.replaceAll(form, '…')
    }
  }
  return shortText(text.replace(/[\s\p{Cc}]+/gu, ' ').trim(), MAX_CHARS)
}

/** A name that is tried at several addresses fails with an error without text. */
function describe(thrown: unknown): string {
  if (thrown instanceof AggregateError && thrown.message === '') return thrown.errors.map(messageOf).join('; ')
  const text = messageOf(thrown)
  return text === '' ? 'the connection was lost' : text
}
