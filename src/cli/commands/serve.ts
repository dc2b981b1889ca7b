import { stayWhenPipesClose } from '../closed-pipes.ts'
import { type GlobalOptions, homeOf, outputOf } from '../globals.ts'
import { runUntilStopped } from '../run-daemon.ts'
import { startDaemonHere } from '../start-daemon.ts'
import { watchStopSignals } from '../stop-signals.ts'

export interface ServeOptions extends GlobalOptions {
  readonly host?: string
  readonly port?: number
}

/** `hal0 serve`: the daemon in the foreground until a signal. JSON: `{url, pid, home}` once it answers. */
export async function serve(options: ServeOptions): Promise<void> {
  stayWhenPipesClose()
  const output = outputOf(options)
  const signals = watchStopSignals()
  const home = homeOf(options, { personal: false })
  const daemon = await startDaemonHere({
    home,
    ...(options.host === undefined ? {} : { host: options.host }),
    ...(options.port === undefined ? {} : { port: options.port }),
    portFlag: 'hal0 serve --port N',
  })
  output.result({ url: daemon.url, pid: process.pid, home: home.label }, () => `hal0 serves ${daemon.url}`)
  await runUntilStopped(daemon, signals, output)
}
