/** A failure of the command line itself, outside the daemon's error registry: bad file, nothing to say, interrupted. */
export class CliError extends Error {
  override readonly name = 'CliError'
  /** For scripts; the same for every case with the same remedy. */
  readonly code: string
  /** One sentence: what the reader can do. Absent when the message says it all. */
  readonly remedy: string | undefined

  constructor(code: string, message: string, remedy?: string) {
    super(message)
    this.code = code
    this.remedy = remedy
  }
}

/** A command that was typed wrongly: exit 2. */
export class UsageError extends CliError {
  constructor(message: string, remedy?: string) {
    super('usage', message, remedy)
  }
}
