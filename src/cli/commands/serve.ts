import { slotFilePath } from '../../config/slot-file.ts'
import type { Home } from '../../files/home.ts'
import { type GlobalOptions, homeOf, outputOf, refuseUrl } from '../globals.ts'
import { stayWhenOutputFails } from '../lost-output.ts'
import { runUntilStopped } from '../run-daemon.ts'
import { slotWarnings } from '../slot-warnings.ts'
import { startDaemonHere } from '../start-daemon.ts'
import { watchStopSignals } from '../stop-signals.ts'

export interface ServeOptions extends GlobalOptions {
  readonly host?: string
  readonly port?: number
}

/** `hal0 serve`: the daemon in the foreground until a signal. JSON: `{url, pid, home}` once it answers. */
export async function serve(options: ServeOptions): Promise<void> {
  refuseUrl('serve', options)
  stayWhenOutputFails()
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
  const rows = daemon.slots.rows()
  if (rows.length === 0) output.note(noSlotText(home))
  for (const line of slotWarnings(rows)) output.note(line)
  await runUntilStopped(daemon, signals, output)
}

function noSlotText(home: Home): string {
  return `hal0: there is no slot yet. Write ${slotFilePath(home, 'NAME')} (docs/install.md shows one) and start hal0 again,
  or stop this one and run \`hal0 quickstart --home ${home.label === '/' ? 'DIR' : home.label}\`, which makes the slot \`agent\` with the bundled model.`
}
