import type { Hal0Client } from '../client/client.ts'
import { findDaemon } from '../client/find-daemon.ts'
import { UsageError } from './cli-error.ts'
import { clientOf } from './client-of.ts'
import { type GlobalOptions, homesToSearch } from './globals.ts'
import { NoDaemonError } from './no-daemon-error.ts'

/**
 * The client of the daemon that is meant: --url, else the home of --home, else HAL0_API_URL, else daemon.json of the usual homes.
 * Asks nobody yet. Errors: UsageError (not a URL, not a key), NoDaemonError (none is known).
 */
export async function connect(globals: GlobalOptions): Promise<Hal0Client> {
  const messages: string[] = []
  for (const home of homesToSearch(globals)) {
    const lookup = await findDaemon({ env: addressEnv(globals), home })
    if (lookup.kind === 'found') return clientOf(lookup, process.env)
    if (lookup.reason === 'bad_url') {
      throw new UsageError(globals.url === undefined ? lookup.message : lookup.message.replace('HAL0_API_URL', '--url'))
    }
    messages.push(lookup.message)
  }
  throw new NoDaemonError(messages.join(' '))
}

/** What is typed wins over the environment, so an explicit home hides HAL0_API_URL. */
function addressEnv(globals: GlobalOptions): Readonly<Record<string, string | undefined>> {
  if (globals.url !== undefined) return { HAL0_API_URL: globals.url }
  return globals.home === undefined ? process.env : {}
}
