import { access, constants } from 'node:fs/promises'
import { Hal0Error, messageOf } from '../kernel/errors.ts'
import type { Home } from './home.ts'
import { makeFolder } from './make-folder.ts'

/**
 * Makes the folders of a home that hal0 writes. `writesEtc`: also the one for settings, which a daemon only reads.
 * Errors: `config.invalid` where the home cannot be written.
 */
export async function prepareHome(home: Home, options: { readonly writesEtc: boolean }): Promise<void> {
  try {
    for (const folder of options.writesEtc ? [home.etc, home.varLib, home.varLog] : [home.varLib, home.varLog]) {
      await makeFolder(folder)
      await access(folder, constants.W_OK)
    }
  } catch (cause) {
    throw Hal0Error.of('config.invalid', `${home.label} cannot be hal0's home: ${messageOf(cause)}`, {
      details: { remedy: 'Choose a folder you can write: --home DIR, or HAL0_HOME.' },
      cause,
    })
  }
}
