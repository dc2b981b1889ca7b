import type { Home } from '../../files/home.ts'
import type { CancelTimer, Clock } from '../../kernel/clock.ts'
import { messageOf } from '../../kernel/errors.ts'
import type { Log } from '../../kernel/log.ts'
import { createConfigLook } from './look-at-config.ts'
import { type Signatures, selectSettled, type WatchState } from './rules/settled.ts'

export interface WatchConfigOptions {
  readonly home: Home
  readonly clock: Clock
  readonly log: Log
  /**
   * Called with the absolute paths of files that were made, changed or removed; never again before it has resolved. What rejects is logged and
   * comes again at the next look. It must not wait for `poke`.
   */
  readonly onChange: (changed: readonly string[]) => Promise<void>
  /** What is known of the files already: what changed since then is told. Default: as they are at the first look. */
  readonly baseline?: Signatures
  readonly pollMs?: number
}

export interface ConfigWatch {
  /**
   * Looks now; resolves when what it found has been told. `written`: files whose writer is done, absolute paths: their changes are told without
   * waiting for them to rest, those of others come as always. Without it every change counts as done.
   */
  poke(written?: readonly string[]): Promise<void>
  /** No call begins after this; resolves when the last one has ended. */
  close(): Promise<void>
}

const POLL_MS = 1_000

/**
 * Watches the settings of a home: hal0.toml, profiles.toml, models.toml, stacks.toml and the TOML files of slots/ and lanes/. It compares what is
 * there with what was told, so that nothing is lost, whatever way a file came to change: replaced, a link turned, also one of a folder above,
 * edited in place, removed and made anew. A file that is being written comes to rest first. Source: SPEC 2 "Edited files are picked up".
 */
export function watchConfig(options: WatchConfigOptions): ConfigWatch {
  const { home, clock, log, onChange, baseline, pollMs = POLL_MS } = options
  const look = createConfigLook(home, log)
  let state: WatchState | undefined = baseline === undefined ? undefined : { told: baseline, seen: baseline }
  let lastFailure: string | undefined
  let isClosed = false
  let cancelTimer: CancelTimer = () => {}
  let last = Promise.resolve()

  async function turn(finished?: ReadonlySet<string> | 'all'): Promise<void> {
    if (isClosed) return
    const now = await look()
    if (isClosed) return
    state ??= { told: now, seen: now }
    const { changed, next } = selectSettled(state, now, finished)
    // Until it has been taken over, the change counts as seen only: the next look tells it again.
    state = { told: state.told, seen: next.seen }
    if (changed.length > 0) await onChange(changed)
    state = next
    lastFailure = undefined
  }

  /** One look at a time. */
  function queue(finished?: ReadonlySet<string> | 'all'): Promise<void> {
    last = last.then(() => turn(finished)).catch(tell)
    return last
  }

  async function lookRegularly(): Promise<void> {
    await queue()
    if (!isClosed) cancelTimer = clock.setTimer(pollMs, () => void lookRegularly())
  }

  /** The same failure each second would fill the log. */
  function tell(thrown: unknown): void {
    const reason = messageOf(thrown)
    if (reason !== lastFailure) log.error({ reason }, 'could not take over changed settings; trying again')
    lastFailure = reason
  }

  void lookRegularly()
  return {
    poke: (written) => (isClosed ? last : queue(written === undefined ? 'all' : new Set(written))),
    async close() {
      isClosed = true
      cancelTimer()
      await last
    },
  }
}
