import { ClientError } from '../client/client-errors.ts'
import type { Output } from './output.ts'
import { localTimes } from './rules/local-times.ts'
import type { Zone } from './rules/zone.ts'

/** What the daemon says when it refuses, with its times in the zone; with `--json` as it is. The failure goes on. */
export async function withLocalErrors<T>(output: Output, zone: Zone, action: () => Promise<T>): Promise<T> {
  try {
    return await action()
  } catch (thrown) {
    if (output.json || !(thrown instanceof ClientError)) throw thrown
    const { code, type, status, remedy, param, retryAfterS, details, message } = thrown
    throw new ClientError({
      ...{ code, status, remedy, param, retryAfterS, details },
      ...(type === undefined ? {} : { type }),
      message: localTimes(message, zone),
    })
  }
}
