import type { ArbiterState } from '../contract/arbiter.ts'
import type { Publisher } from '../events/bus.ts'
import { messageOf } from '../kernel/errors.ts'
import type { Log } from '../kernel/log.ts'
import type { ArbiterStore } from './state-file.ts'

/** The arbiter's state, in memory and on disk. */
export interface StateKeeper {
  readonly now: ArbiterState
  /** In memory at once; resolves when the newest state is on disk, or could not be written, which log and bus are told. */
  keep(patch: Partial<ArbiterState>): Promise<void>
}

/** Writes one after another; while one is being written only the newest of the others is kept. */
export function createStateKeeper(
  first: ArbiterState,
  { store, log, bus }: { readonly store: ArbiterStore; readonly log: Log; readonly bus: Publisher },
): StateKeeper {
  let now = first
  let isWritten = true
  let writing: Promise<void> | undefined

  async function write(): Promise<void> {
    while (!isWritten) {
      isWritten = true
      try {
        await store.write(now)
      } catch (cause) {
        // It goes on: a full disk must not stop images. After a crash the daemon decides by what runs.
        const message = `the state of the GPU arbiter could not be saved: ${messageOf(cause)}`
        log.error({ mode: now.mode }, message)
        bus.publish({ type: 'arbiter.state_not_saved', severity: 'error', source: 'arbiter', message, data: {} })
      }
    }
    writing = undefined
  }
  return {
    get now() {
      return now
    },
    keep: async (patch) => {
      now = { ...now, ...patch }
      isWritten = false
      writing ??= write()
      await writing
    },
  }
}
