/** Longest line that is shown to people, in characters. */
const MAX_LINE_CHARACTERS = 400

/** What a runner's ErrorSignature says, as far as this rule reads it. */
export interface FailureSignature<Cause extends string> {
  readonly cause: Cause
  /** Tested against one line; has no state. */
  readonly pattern: RegExp
  readonly remedy: string
}

/** The decisive line of an engine's last words. */
export interface FailureExplanation<Cause extends string> {
  /** Without colours and outer spaces, at most 400 characters. */
  readonly line: string
  /** undefined = no signature matched: the line only looks like an error. */
  readonly cause: Cause | undefined
  readonly remedy: string | undefined
}

// oxlint-disable-next-line no-control-regex -- ESC is what is looked for.
const ANSI = /\u001b\[[0-9;?]*[ -/]*[@-~]/g

const LOOKS_LIKE_ERROR =
  /\b(error|fatal|fail(ed|ure)?|cannot|can't|could ?n[o']t|unable|abort(ed)?|exception|terminate|killed|denied|invalid)\b/i

function clean(line: string): string {
  const text = line.replace(ANSI, '').trim()
  return text.length <= MAX_LINE_CHARACTERS ? text : `${text.slice(0, MAX_LINE_CHARACTERS - 1)}…`
}

/**
 * Why did an engine end? `lines`: the tail of its log, oldest first. The signatures are ordered, most telling first: the first one that
 * matches any line wins, with the first line it matches (engines repeat themselves on the way out). Without a match: the last line
 * that looks like an error. undefined = nothing was said. Source: SPEC 5, 10; CASES 31.
 */
export function explainFailure<Cause extends string>(
  lines: readonly string[],
  signatures: readonly FailureSignature<Cause>[],
): FailureExplanation<Cause> | undefined {
  const cleaned = lines.map(clean).filter((line) => line !== '')
  for (const signature of signatures) {
    const line = cleaned.find((candidate) => signature.pattern.test(candidate))
    if (line !== undefined) return { line, cause: signature.cause, remedy: signature.remedy }
  }
  const line = cleaned.findLast((candidate) => LOOKS_LIKE_ERROR.test(candidate))
  return line === undefined ? undefined : { line, cause: undefined, remedy: undefined }
}
