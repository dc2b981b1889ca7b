import { Client } from 'undici'
import { errnoOf, isOwnShortage } from '../../kernel/errors.ts'
import type { ProbeSpec } from '../../runners/runner.ts'
import type { Look } from '../rules/next-watch.ts'
import { PROBE_TIMEOUT_MS } from '../settings.ts'

/** Looks whether an engine that served is still there, as often as asked. `close` when no more looks are needed. */
export interface LiveLook {
  /**
   * `alive`: it answered, with any status below 500. `refused`: nobody listens on its port, also when asked once more at once. `unseen`: there
   * was no file or port left here to look with. `silent`: all else. Never rejects; after `close` it is `silent`.
   */
  look(): Promise<Look>
  /** Ends a look that runs. Idempotent. */
  close(): Promise<void>
}

/** `timeoutMs`: how long one look may take; default 3 s. Source: SPEC 5 "Live watch". */
export function createLiveLook(
  origin: string,
  { healthPath }: Pick<ProbeSpec, 'healthPath'>,
  engineKey: string | undefined,
  timeoutMs: number = PROBE_TIMEOUT_MS,
): LiveLook {
  const client = new Client(origin, { headersTimeout: 0, bodyTimeout: 0 })
  const headers = engineKey === undefined ? {} : { authorization: `Bearer ${engineKey}` }

  async function lookOnce(): Promise<Look> {
    try {
      const { statusCode, body } = await client.request({
        path: healthPath,
        method: 'GET',
        headers,
        // One connection each: an engine that closes after its answers must not look like one that is gone.
        reset: true,
        signal: AbortSignal.timeout(timeoutMs),
      })
      // The status says it all; what becomes of the rest is no sign of anything.
      body.on('error', () => {}).destroy()
      return statusCode < 500 ? 'alive' : 'silent'
    } catch (cause) {
      if (isOwnShortage(cause)) return 'unseen'
      return errnoOf(cause) === 'ECONNREFUSED' ? 'refused' : 'silent'
    }
  }

  return {
    look: async () => {
      const first = await lookOnce()
      return first === 'refused' ? lookOnce() : first
    },
    close: () => client.destroy(),
  }
}
