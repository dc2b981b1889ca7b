import { resolve } from 'node:path'
import { createClient, type Hal0Client } from '../../client/client.ts'
import { UnreachableError } from '../../client/client-errors.ts'
import { findDaemon } from '../../client/find-daemon.ts'
import { DEFAULT_SLOT, type SlotRow } from '../../contract/slot-row.ts'
import type { Home } from '../../files/home.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { prepareAgentSlot } from '../agent-slot.ts'
import { CliError, UsageError } from '../cli-error.ts'
import { clientOf } from '../client-of.ts'
import { type GlobalOptions, homeOf, outputOf, refuseUrl } from '../globals.ts'
import { stayWhenOutputFails } from '../lost-output.ts'
import { doorTexts } from '../open-text.ts'
import type { Output } from '../output.ts'
import { curlLine, typedAs, welcomeText } from '../quickstart-text.ts'
import { runUntilStopped } from '../run-daemon.ts'
import { withSlotProgress } from '../slot-progress.ts'
import { slotWarnings } from '../slot-warnings.ts'
import { startDaemonHere } from '../start-daemon.ts'
import { watchStopSignals } from '../stop-signals.ts'

export interface QuickstartOptions extends GlobalOptions {
  readonly port?: number
  /** A GGUF file, relative to where the command was typed. */
  readonly model?: string
  readonly ask?: string
}

/**
 * `hal0 quickstart` (`npm start`): a home with slot `agent`, the daemon on it, the slot loaded. Then it stays in the foreground, or with
 * --ask prints one answer (nothing else on stdout) and stops everything. Also a failure and a signal leave no process behind.
 * JSON: `{url, base_url, home, slot, model_id, curl}`; with --ask `{slot, answer}`. Source: SPEC 2, README.
 */
export async function quickstart(options: QuickstartOptions): Promise<void> {
  refuseUrl('quickstart', options)
  if (options.ask?.trim() === '') throw new UsageError('There is nothing to ask.', 'Give a text: --ask "TEXT".')
  if (options.model === '') throw new UsageError('--model is empty.', 'Give the path of a GGUF file.')
  stayWhenOutputFails()
  const output = outputOf(options)
  const home = homeOf(options, { personal: true })
  const running = await findRunning(home)
  if (running !== undefined) return useRunning(running, home, options, output)

  const isNpmStart = process.env['npm_lifecycle_event'] === 'start'
  const typed = typedAs(process.argv[1] ?? 'hal0', process.cwd(), isNpmStart)
  // For one question nobody needs to know the port, and 8080 may be taken.
  const port = options.port ?? (options.ask === undefined ? undefined : 0)
  const signals = watchStopSignals()
  await prepareAgentSlot(home, options.model === undefined ? undefined : resolve(options.model))
  const daemon = await startDaemonHere({
    home,
    ...(port === undefined ? {} : { port }),
    portFlag: `${typed.quickstart} --port N`,
  })
  try {
    const client = await ownClient(home, daemon.url)
    if (options.ask !== undefined) return await ask(client, options.ask, signals.first, output)
    const row = await load(client, signals.first, output)
    const facts = {
      url: daemon.url,
      base_url: `${daemon.url}/v1`,
      home: home.label,
      slot: row.name,
      model_id: row.model_id,
    }
    const isOpen = daemon.setUpToken !== undefined
    const flags = { homeFlag: homeToType(options), portFlag: options.port, isOpen }
    output.result({ ...facts, curl: curlLine(daemon.url, isOpen) }, () =>
      welcomeText({ url: daemon.url, home, row, typed, ...flags }),
    )
    for (const line of slotWarnings(daemon.slots.rows(), DEFAULT_SLOT)) output.note(line)
    for (const text of doorTexts(daemon)) output.note(text)
    await runUntilStopped(daemon, signals, output)
  } finally {
    // After a normal end this is done already; after a failure or an interrupted load nothing is worth waiting for.
    await daemon.stop({ drainMs: 0 })
  }
}

/** What another command needs so that it means the same home; undefined = it does by itself. */
function homeToType({ home }: GlobalOptions): string | undefined {
  const named = home ?? (process.env['HAL0_HOME'] || undefined)
  return named === undefined ? undefined : resolve(named)
}

/** The client of the daemon that this process is. Its own key is in daemon.json by now; HAL0_API_KEY may be another daemon's. */
async function ownClient(home: Home, url: string): Promise<Hal0Client> {
  const lookup = await findDaemon({ env: {}, home })
  return lookup.kind === 'found' && lookup.url === url ? clientOf(lookup, {}) : createClient({ baseUrl: url })
}

/** The daemon of this home, when one really answers. HAL0_API_URL and HAL0_API_KEY are about other daemons. */
async function findRunning(home: Home): Promise<{ readonly client: Hal0Client; readonly pid: number } | undefined> {
  const lookup = await findDaemon({ env: {}, home })
  if (lookup.kind !== 'found' || lookup.from !== 'daemon.json') return undefined
  const client = clientOf(lookup, {})
  try {
    await client.health()
    return { client, pid: lookup.pid }
  } catch (thrown) {
    if (thrown instanceof UnreachableError) return undefined
    throw thrown
  }
}

async function useRunning(
  { client, pid }: { readonly client: Hal0Client; readonly pid: number },
  home: Home,
  options: QuickstartOptions,
  output: Output,
): Promise<void> {
  if (options.ask === undefined || options.model !== undefined) {
    throw Hal0Error.of(
      'server.already_running',
      `hal0 already runs for ${home.label} at ${client.baseUrl} (pid ${pid}).`,
    )
  }
  const signals = watchStopSignals()
  output.note(`using the daemon that runs at ${client.baseUrl}`)
  await ask(client, options.ask, signals.first, output)
}

async function ask(client: Hal0Client, text: string, signal: AbortSignal, output: Output): Promise<void> {
  await load(client, signal, output)
  const request = { model: DEFAULT_SLOT, messages: [{ role: 'user', content: text }], temperature: 0 } as const
  let answer = ''
  try {
    for await (const piece of client.chat({ ...request, signal })) answer += piece
  } catch (thrown) {
    throw interruptionOr(thrown, signal)
  }
  if (answer.trim() === '') throw new CliError('no_answer', `Slot ${DEFAULT_SLOT} answered with nothing.`)
  output.result({ slot: DEFAULT_SLOT, answer }, () => answer)
}

async function load(client: Hal0Client, signal: AbortSignal, output: Output): Promise<SlotRow> {
  try {
    const slots = client.slots
    const result = await withSlotProgress(client, DEFAULT_SLOT, output, () => slots.load(DEFAULT_SLOT, { signal }))
    if (result.done) return result.slot
    throw new CliError('internal', 'The daemon did not wait for the load.')
  } catch (thrown) {
    throw interruptionOr(thrown, signal)
  }
}

function interruptionOr(thrown: unknown, signal: AbortSignal): unknown {
  return signal.aborted ? new CliError('interrupted', `Interrupted by ${signal.reason}.`) : thrown
}
