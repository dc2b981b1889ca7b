/** What hal0 itself writes into an engine's log at each start, so that words of an earlier attempt are not taken for this one's. */
export interface LogMarker {
  readonly slot: string
  readonly attemptId: string
  /** ISO 8601. */
  readonly startedAt: string
}

/** The marker as a line, with its end. It starts a new line also when the last engine's words broke off in the middle. */
export function markerLine(marker: LogMarker): string {
  return `\n${markerStart(marker.attemptId)} slot ${marker.slot} at ${marker.startedAt}\n`
}

function markerStart(attemptId: string): string {
  return `--- hal0: start ${attemptId}`
}

/** The lines of one attempt: those behind its marker, or all when the marker is not among them (it is further back). */
export function linesOfAttempt(lines: readonly string[], attemptId: string): readonly string[] {
  const start = markerStart(attemptId)
  return lines.slice(lines.findLastIndex((line) => line.startsWith(`${start} `)) + 1)
}
