import { findHome, type Home, homeAt } from '../files/home.ts'
import { createOutput, type Output } from './output.ts'

/** Options that every command takes, before or after its name. */
export interface GlobalOptions {
  /** HAL0_HOME for this call. */
  readonly home?: string
  /** Address of a daemon; wins over HAL0_API_URL and daemon.json. */
  readonly url?: string
  readonly json?: boolean
}

/** The one home that a command works on: --home, HAL0_HOME, else the default (`personal`: never the system's folders). */
export function homeOf(globals: GlobalOptions, options: { readonly personal: boolean }): Home {
  if (globals.home !== undefined) return homeAt(globals.home)
  return findHome(process.env, { uid: userId(), personal: options.personal })
}

/** The homes in which a daemon may be found. Root has two: the system's, and the personal one of `npm start`. */
export function homesToSearch(globals: GlobalOptions): readonly [Home, ...Home[]] {
  const first = homeOf(globals, { personal: false })
  const personal = homeOf(globals, { personal: true })
  return personal.label === first.label ? [first] : [first, personal]
}

export function outputOf(globals: GlobalOptions): Output {
  return createOutput({ json: globals.json === true, stdout: process.stdout, stderr: process.stderr })
}

function userId(): number {
  return process.getuid?.() ?? -1
}
