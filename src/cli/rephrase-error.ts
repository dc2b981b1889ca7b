import { ClientError } from '../client/client-errors.ts'

/** The same failure with another message, or another way out. */
export function rephraseError(
  thrown: ClientError,
  words: { readonly message?: string; readonly remedy?: string },
): ClientError {
  const { code, type, status, remedy, param, retryAfterS, details, message } = thrown
  return new ClientError({
    ...{ code, status, remedy, param, retryAfterS, details, message },
    ...(type === undefined ? {} : { type }),
    ...words,
  })
}
