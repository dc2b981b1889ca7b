import { ClientError } from '../client/client-errors.ts'
import type { Output } from './output.ts'
import { rephraseError } from './rephrase-error.ts'
import { localTimes } from './rules/local-times.ts'
import type { Zone } from './rules/zone.ts'

/** What the daemon says when it refuses, with its times in the zone; with `--json` as it is. The failure goes on. */
export async function withLocalErrors<T>(output: Output, zone: Zone, action: () => Promise<T>): Promise<T> {
  try {
    return await action()
  } catch (thrown) {
    if (output.json || !(thrown instanceof ClientError)) throw thrown
    throw rephraseError(thrown, { message: localTimes(thrown.message, zone) })
  }
}
