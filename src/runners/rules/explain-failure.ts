import type { FailureCause } from '../../contract/slot-state.ts'

/** Longest line that is shown to people, in characters. */
const MAX_LINE_CHARACTERS = 400

/** A pattern in an engine's own output, what it means, and what to do. Source: SPEC 10 "error signatures". */
export interface ErrorSignature {
  readonly cause: FailureCause
  /** Tested against one line; has no state. */
  readonly pattern: RegExp
  readonly remedy: string
}

/** The decisive line of an engine's last words. */
export interface FailureExplanation {
  /** Without colours and outer spaces, at most 400 characters. */
  readonly line: string
  /** undefined = no signature matched: the line only looks like an error. */
  readonly cause: FailureCause | undefined
  readonly remedy: string | undefined
}

// oxlint-disable-next-line no-control-regex -- ESC is what is looked for.
const ANSI = /\u001b\[[0-9;?]*[ -/]*[@-~]/g

const LOOKS_LIKE_ERROR =
  /\b(error|fatal|fail(ed|ure)?|cannot|can't|could ?n[o']t|unable|abort(ed)?|exception|terminate|killed|denied|invalid)\b/i

/** How llama.cpp begins a line: the time, and a letter for how grave it is. */
const LEVEL = /^\d+(?:\.\d+){3} ([A-Z]) /

/** What engines say on their way out, after the line that says why; and what they say of one request. */
const SAYS_NOTHING =
  /failed to load model|error loading model\W*$|exiting due to|trying to fit params|failed to create[ _](?:\w+_)?context|unable to load model|cleaning up|\bsend_error\b/i

/** The end itself: whatever an engine complained about before, it went on. */
const IS_THE_END = /(?<!non-)\bfatal\b|GGML_ASSERT|terminate called|segmentation fault/i

function clean(line: string): string {
  const text = line.replace(ANSI, '').trim()
  return text.length <= MAX_LINE_CHARACTERS ? text : `${text.slice(0, MAX_LINE_CHARACTERS - 1)}…`
}

/**
 * Why did an engine end? `lines`: the tail of its log, oldest first. The signatures are ordered, most telling first: the first one that
 * matches any line wins, with the first line it matches (engines repeat themselves on the way out). Without a match: the line
 * that ends it all, else the first that tells an error (what follows repeats it in emptier words), else the last that looks like one. undefined = nothing was said. Source: SPEC 5, 10; CASES 31.
 */
export function explainFailure(
  lines: readonly string[],
  signatures: readonly ErrorSignature[],
): FailureExplanation | undefined {
  const cleaned = lines.map(clean).filter((line) => line !== '')
  for (const signature of signatures) {
    const line = cleaned.find((candidate) => signature.pattern.test(candidate))
    if (line !== undefined) return { line, cause: signature.cause, remedy: signature.remedy }
  }
  const line =
    cleaned.find((candidate) => IS_THE_END.test(candidate)) ??
    cleaned.find(tellsError) ??
    cleaned.findLast((candidate) => LOOKS_LIKE_ERROR.test(candidate))
  return line === undefined ? undefined : { line, cause: undefined, remedy: undefined }
}

function tellsError(line: string): boolean {
  if (SAYS_NOTHING.test(line)) return false
  const level = LEVEL.exec(line)?.[1]
  return level === undefined ? LOOKS_LIKE_ERROR.test(line) : level === 'E'
}
