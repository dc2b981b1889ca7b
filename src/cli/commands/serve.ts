import { type GlobalOptions, homeOf, outputOf, refuseUrl } from '../globals.ts'
import { stayWhenOutputFails } from '../lost-output.ts'
import { doorTexts } from '../open-text.ts'
import { runUntilStopped } from '../run-daemon.ts'
import { slotWarnings } from '../slot-warnings.ts'
import { startDaemonHere } from '../start-daemon.ts'
import { watchStopSignals } from '../stop-signals.ts'

export interface ServeOptions extends GlobalOptions {
  readonly host?: string
  readonly port?: number
  /** Also beyond this machine without users. */
  readonly insecure?: boolean
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
    insecure: options.insecure === true,
    portFlag: 'hal0 serve --port N',
  })
  output.result({ url: daemon.url, pid: process.pid, home: home.label }, () => `hal0 serves ${daemon.url}`)
  const rows = daemon.slots.rows()
  if (rows.every((row) => row.model_id === null)) output.note(NO_MODEL_TEXT)
  for (const line of slotWarnings(rows)) output.note(line)
  for (const text of doorTexts(daemon)) output.note(text)
  await runUntilStopped(daemon, signals, output)
}

/** What a fresh home lacks: its slots have nothing to run. */
const NO_MODEL_TEXT = `hal0: no slot has a model yet. \`hal0 model list\` shows the models there are, \`hal0 model add FILE\` and
  \`hal0 model pull ORG/NAME\` bring one; then: hal0 slot create mine --model ID && hal0 slot load mine`
