import { existsSync } from 'node:fs'
import { findDaemon } from '../client/find-daemon.ts'
import type { Home } from '../files/home.ts'
import { type GlobalOptions, homeOf, homesToSearch } from './globals.ts'

/**
 * The home whose files a command looks at: that of a running daemon, else one that has been set up, else the one a daemon would use.
 * Needs no daemon.
 */
export async function chooseHome(globals: GlobalOptions): Promise<Home> {
  for (const home of homesToSearch(globals)) {
    if ((await findDaemon({ env: {}, home })).kind === 'found') return home
  }
  // Nothing runs: the one that has been set up. Root's own is where `npm start` puts it.
  for (const home of homesToSearch(globals)) if (existsSync(home.etc)) return home
  return homeOf(globals, { personal: false })
}
