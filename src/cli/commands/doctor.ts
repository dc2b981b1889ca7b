import { findDaemon } from '../../client/find-daemon.ts'
import { readDaemonSettings } from '../../config/settings/daemon-settings.ts'
import type { Home } from '../../files/home.ts'
import { diagnose } from '../../hardware/doctor.ts'
import type { Finding } from '../../hardware/finding.ts'
import { thisMachine } from '../../hardware/this-machine.ts'
import { chooseHome } from '../choose-home.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { findHomeFiles } from '../home-findings.ts'

/**
 * `hal0 doctor`: 0 = hal0 can run here, whatever optional things miss; 1 = it cannot. Looks at the home of a running daemon, else at one
 * that has files, else at the one a daemon would use. JSON: `{ok, findings: [finding, …]}`.
 */
export async function doctor(globals: GlobalOptions): Promise<ExitCode> {
  const output = outputOf(globals)
  const home = await chooseHome(globals)
  const llamaServer = await configuredLlamaServer(home)
  const machine = await diagnose(thisMachine(), { home, ...(llamaServer === undefined ? {} : { llamaServer }) })
  const isRunning = (await findDaemon({ env: {}, home })).kind === 'found'
  const files = await findHomeFiles(home, { isRunning })
  const ok = machine.ok && files.every((finding) => finding.ok || !finding.required)
  const findings = [...machine.findings, ...files]
  output.result({ ok, findings }, () => {
    const table = output.table(
      ['', 'WHAT', 'FOUND', 'GIVES'],
      findings.map((finding) => [
        verdict(finding, files.includes(finding)),
        finding.name,
        finding.found,
        finding.gives,
      ]),
    )
    return process.stdout.isTTY ? `${table}\n\n${summary(ok)}` : table
  })
  return ok ? EXIT.ok : EXIT.failed
}

/** An optional thing that is not there is no mistake; a file that is there and wrong is one. */
function verdict(finding: Finding, isFile: boolean): string {
  if (finding.ok) return 'ok'
  if (finding.required) return 'FAIL'
  return isFile ? 'warn' : 'none'
}

function summary(ok: boolean): string {
  return ok ? 'hal0 can run here.' : 'hal0 does not start here until every FAIL above is mended.'
}

/** With mistakes in the settings (told by a finding of its own) it looks on PATH. */
async function configuredLlamaServer(home: Home): Promise<string | undefined> {
  const settings = await readDaemonSettings(home).catch(() => undefined)
  return settings?.runners['cpu']?.binary
}
