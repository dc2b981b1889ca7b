import { Hal0Error } from '../../kernel/errors.ts'

/** One mistake in a file: where, what was expected. Source: SPEC 2. */
export interface ConfigMistake {
  readonly file: string
  /** Dotted, for example `model.default`; '' = the file as a whole. */
  readonly keyPath: string
  readonly expected: string
}

export function describeMistake(mistake: ConfigMistake): string {
  const place = mistake.keyPath === '' ? mistake.file : `${mistake.file}: ${mistake.keyPath}`
  return `${place}: ${mistake.expected}`
}

/**
 * All mistakes of one or more files as the error a client sees; `details.mistakes`: file, key, message. `mistakes` is never empty.
 * Errors: `config.invalid`.
 */
export function configError(mistakes: readonly ConfigMistake[]): Hal0Error {
  return Hal0Error.of('config.invalid', mistakes.map(describeMistake).join('; '), {
    details: {
      mistakes: mistakes.map(({ file, keyPath, expected }) => ({ file, key: keyPath, message: expected })),
    },
  })
}
