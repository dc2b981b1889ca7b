/** Signals that end a foreground daemon. A closed terminal (SIGHUP) ends it like Ctrl-C. */
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** One Ctrl-C under npm arrives twice: from the terminal and forwarded by npm. Closer than this, it is the same wish. */
const SAME_WISH_MS = 500

/** How soon the end of npm is noticed. */
const PARENT_CHECK_MS = 500

/** The wish to stop, once politely and once in a hurry. */
export interface StopSignals {
  /** Aborts at the first signal; `reason` says which. */
  readonly first: AbortSignal
  /** Aborts at the next one that is a wish of its own. */
  readonly second: AbortSignal
}

/**
 * Takes over the stop signals of this process for the rest of its life. Under `npm start` the end of npm is a wish to stop too: who kills npm means
 * the daemon, and would otherwise leave it without a terminal.
 */
export function watchStopSignals(): StopSignals {
  const first = new AbortController()
  const second = new AbortController()
  const isUnderNpm = process.env['npm_lifecycle_event'] !== undefined
  let firstAtMs = 0
  const onSignal = (name: string) => {
    const nowMs = performance.now()
    if (!first.signal.aborted) {
      firstAtMs = nowMs
      first.abort(name)
    } else if (!isUnderNpm || nowMs - firstAtMs >= SAME_WISH_MS) second.abort(name)
  }
  for (const name of STOP_SIGNALS) process.on(name, onSignal)
  if (process.env['npm_lifecycle_event'] === 'start') {
    const parent = process.ppid
    const check = setInterval(() => {
      if (process.ppid !== parent && !first.signal.aborted) first.abort('the end of npm')
    }, PARENT_CHECK_MS)
    check.unref()
  }
  return { first: first.signal, second: second.signal }
}

/** Resolves when the signal aborts; at once when it has. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
