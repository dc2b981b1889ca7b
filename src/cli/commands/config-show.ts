import { stringify } from 'smol-toml'
import { UnreachableError } from '../../client/client-errors.ts'
import { daemonSettingsPath, readDaemonSettings, redactSettings } from '../../config/settings/daemon-settings.ts'
import type { SettingsView } from '../../contract/settings.ts'
import { chooseHome } from '../choose-home.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { NoDaemonError } from '../no-daemon-error.ts'

/**
 * `hal0 config show`: of the daemon that runs, else of the file that one would read. JSON: `{file, running, url, settings}`; `url`: where the
 * daemon listens, null = none runs.
 * Errors: `config.invalid` (no daemon, and the file has mistakes).
 */
export async function configShow(globals: GlobalOptions): Promise<void> {
  const output = outputOf(globals)
  const ofDaemon = await askDaemon(globals)
  const { file, settings } = ofDaemon ?? (await readFile(globals))
  const running = ofDaemon !== undefined
  const url = ofDaemon?.url ?? null
  output.result({ file, running, url, settings }, () => {
    const origin = running ? 'in effect in the daemon that runs' : 'as a daemon would read it; none runs'
    const place = url === null ? '' : placeLine(url, settings['server'])
    return `# ${file}, with defaults: ${origin}\n${place}${stringify(settings)}`
  })
}

/** Where it listens may have been said when it was started, and then the file's word does not count. '' = it is as the file says. */
function placeLine(url: string, server: unknown): string {
  const { hostname, port } = new URL(url)
  const told: { readonly host?: unknown; readonly port?: unknown } =
    typeof server === 'object' && server !== null ? server : {}
  const isPlace = String(told.port) === port && told.host === hostname.replaceAll(/[[\]]/g, '')
  return isPlace
    ? ''
    : `# It listens on ${url}: it was started with another host or port (--host, --port) than [server] names.\n`
}

/** Undefined = none runs; one that was named and does not answer is a failure. */
async function askDaemon(globals: GlobalOptions): Promise<(SettingsView & { readonly url: string }) | undefined> {
  try {
    const client = await connect(globals)
    const [view, { url }] = await Promise.all([client.settings(), client.status()])
    return { ...view, url }
  } catch (thrown) {
    const isNamed = globals.url !== undefined || (globals.home === undefined && Boolean(process.env['HAL0_API_URL']))
    if (thrown instanceof NoDaemonError || (thrown instanceof UnreachableError && !isNamed)) return undefined
    throw thrown
  }
}

async function readFile(globals: GlobalOptions): Promise<SettingsView> {
  const home = await chooseHome(globals)
  return { file: daemonSettingsPath(home), settings: { ...redactSettings(await readDaemonSettings(home)) } }
}
