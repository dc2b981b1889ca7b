import { stringify } from 'smol-toml'
import { UnreachableError } from '../../client/client-errors.ts'
import { daemonSettingsPath, readDaemonSettings, redactSettings } from '../../config/settings/daemon-settings.ts'
import type { SettingsView } from '../../contract/settings.ts'
import { chooseHome } from '../choose-home.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { NoDaemonError } from '../no-daemon-error.ts'

/**
 * `hal0 config show`: of the daemon that runs, else of the file that one would read. JSON: `{file, running, settings}`.
 * Errors: `config.invalid` (no daemon, and the file has mistakes).
 */
export async function configShow(globals: GlobalOptions): Promise<void> {
  const output = outputOf(globals)
  const ofDaemon = await askDaemon(globals)
  const { file, settings } = ofDaemon ?? (await readFile(globals))
  const running = ofDaemon !== undefined
  output.result({ file, running, settings }, () => {
    const origin = running ? 'in effect in the daemon that runs' : 'as a daemon would read it; none runs'
    return `# ${file}, with defaults: ${origin}\n${stringify(settings)}`
  })
}

/** Undefined = none runs; one that was named and does not answer is a failure. */
async function askDaemon(globals: GlobalOptions): Promise<SettingsView | undefined> {
  try {
    return await (await connect(globals)).settings()
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
