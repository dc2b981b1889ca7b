/** Signs of life in a silent event stream. `after_status`: once the engine has answered with its status. `at_once`: also while the request waits; that commits status 200. */
export type HeartbeatChoice =
  | { readonly kind: 'none' }
  | { readonly kind: 'after_status' | 'at_once'; readonly everyMs: number }

const MIN_S = 1
const MAX_S = 60
const NONE: HeartbeatChoice = { kind: 'none' }

/**
 * Does this stream get signs of life? `header` is `X-Hal0-Heartbeat` in seconds, 1 to 60: the client asks for them from the start. `settingS` is
 * `[dispatcher] heartbeat_s`, 0 = off: the operator asks, and then no status is given away before the engine's is known. Undefined = the header is no such
 * number. Source: SPEC 11 "Streaming"; opt-in: the first byte decides the status.
 */
export function chooseHeartbeat(header: string | undefined, settingS: number): HeartbeatChoice | undefined {
  if (header === undefined) return settingS > 0 ? { kind: 'after_status', everyMs: settingS * 1000 } : NONE
  if (!/^\d{1,2}(\.\d{1,3})?$/.test(header.trim())) return undefined
  const wishS = Number(header)
  return wishS < MIN_S || wishS > MAX_S ? undefined : { kind: 'at_once', everyMs: wishS * 1000 }
}
