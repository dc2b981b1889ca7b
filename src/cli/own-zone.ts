import { ClientError, UnreachableError } from '../client/client-errors.ts'
import { UsageError } from './cli-error.ts'
import { connect } from './connect.ts'
import type { GlobalOptions } from './globals.ts'
import { NoDaemonError } from './no-daemon-error.ts'
import type { Zone } from './rules/zone.ts'
import { openZone } from './time-zone.ts'

/** `--time-zone` as typed. */
export interface TimeZoneOption {
  readonly timeZone?: string
}

/**
 * The zone in which a command reads and shows times: --time-zone, else TZ, else that of the user who asks, else this machine's. Only where
 * the first two say nothing the daemon is asked; whatever it cannot tell is told by the command itself. Errors: UsageError (no such
 * zone). Source: SPEC 13 "shown in the viewer's zone".
 */
export async function openOwnZone(options: GlobalOptions & TimeZoneOption): Promise<Zone> {
  const isSaid = options.timeZone !== undefined || (process.env['TZ'] ?? '').trim() !== ''
  const own = isSaid ? undefined : await zoneOfUser(options)
  return own ?? openZone(options.timeZone)
}

/** Undefined = it is nobody in particular, they have none, or it is one that this Node does not know. */
async function zoneOfUser(options: GlobalOptions): Promise<Zone | undefined> {
  try {
    const { user } = await (await connect(options)).people.session()
    return user?.time_zone == null ? undefined : openZone(user.time_zone)
  } catch (thrown) {
    const isUnknown = [ClientError, UnreachableError, NoDaemonError, UsageError].some((kind) => thrown instanceof kind)
    if (isUnknown) return undefined
    throw thrown
  }
}
