import { ClientError } from '../client/client-errors.ts'
import type { GlobalOptions } from './globals.ts'
import { openOwnZone, type TimeZoneOption } from './own-zone.ts'
import { rephraseError } from './rephrase-error.ts'
import { hasTimes, localTimes } from './rules/local-times.ts'

/**
 * What the daemon said when it refused, with its times as a clock in the zone of who asks shows them; everything else as it is. With `--json`
 * they stay in UTC. Never rejects. Source: SPEC 13 "shown in the viewer's zone".
 */
export async function inOwnTimes(thrown: unknown, options: GlobalOptions & TimeZoneOption): Promise<unknown> {
  if (options.json === true || !(thrown instanceof ClientError)) return thrown
  // The zone may have to be asked for.
  if (!hasTimes(thrown.message)) return thrown
  try {
    const zone = await openOwnZone(options)
    return rephraseError(thrown, { message: localTimes(thrown.message, zone) })
  } catch {
    return thrown
  }
}
