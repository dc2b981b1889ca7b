import type { Daemon } from '../daemon.ts'
import type { Home } from '../files/home.ts'
import { findPortHolder } from '../hardware/port-holder.ts'
import { errnoOf } from '../kernel/errors.ts'
import { CliError } from './cli-error.ts'

export interface StartOptions {
  readonly home: Home
  /** Absent = `[server] host` and `port` of the home. */
  readonly host?: string
  /** 0 = any free one. */
  readonly port?: number
  /** Listens beyond this machine although no user is defined. */
  readonly insecure?: boolean
  /** How the command line names its port flag in the remedy, for example `npm start -- --port N`. */
  readonly portFlag: string
}

/**
 * Starts the daemon in this process. The daemon's code is loaded only here: other commands stay quick.
 * Errors: `port_in_use` (CliError naming who holds it), and those of `startDaemon`.
 */
export async function startDaemonHere(options: StartOptions): Promise<Daemon> {
  const { startDaemon } = await import('../daemon.ts')
  const { home, host, port, insecure = false, portFlag } = options
  try {
    return await startDaemon({
      home,
      ...(host === undefined ? {} : { host }),
      ...(port === undefined ? {} : { port }),
      ...(insecure ? { insecure } : {}),
    })
  } catch (thrown) {
    const busy = busyAddress(thrown)
    if (busy === undefined) throw thrown
    throw await portInUse(busy.address, busy.port, portFlag)
  }
}

async function portInUse(address: string, port: number, portFlag: string): Promise<CliError> {
  const holder = await findPortHolder(port)
  const who = holder === undefined ? 'a program of another user' : `${holder.program} (pid ${holder.pid})`
  const stop = holder === undefined ? 'Stop it' : `Stop it (\`kill ${holder.pid}\`)`
  return new CliError(
    'port_in_use',
    `Port ${port} on ${address} is taken by ${who}.`,
    `${stop}, or choose another port: \`${portFlag}\` (0 = any free one).`,
  )
}

/** The address of an EADDRINUSE anywhere in the chain of causes. */
function busyAddress(thrown: unknown): { readonly address: string; readonly port: number } | undefined {
  for (let error = thrown; error instanceof Error; error = error.cause) {
    if (errnoOf(error) === 'EADDRINUSE' && 'port' in error && typeof error.port === 'number') {
      return { address: 'address' in error ? String(error.address) : '127.0.0.1', port: error.port }
    }
  }
  return undefined
}
