import { findHome, type Home, homeAt } from '../files/home.ts'
import { UsageError } from './cli-error.ts'
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

/** A command that is the daemon listens where it is told to; the address of another one means a mistake. Errors: UsageError. */
export function refuseUrl(command: string, globals: GlobalOptions): void {
  if (globals.url === undefined) return
  throw new UsageError(
    `hal0 ${command} runs a daemon of its own; --url names one that runs already.`,
    'Leave --url out; --port and --home say where this daemon lives.',
  )
}

export function outputOf(globals: GlobalOptions): Output {
  return createOutput({ json: globals.json === true, stdout: process.stdout, stderr: process.stderr })
}

function userId(): number {
  return process.getuid?.() ?? -1
}
