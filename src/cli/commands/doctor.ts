import { readDaemonSettings } from '../../config/daemon-settings.ts'
import type { Home } from '../../files/home.ts'
import { diagnose } from '../../hardware/doctor.ts'
import type { Finding } from '../../hardware/finding.ts'
import { thisMachine } from '../../hardware/this-machine.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import { type GlobalOptions, homeOf, outputOf } from '../globals.ts'

/** `hal0 doctor`: 0 = hal0 can run here, whatever optional things miss; 1 = it cannot. JSON: `{ok, findings: [finding, …]}`. */
export async function doctor(globals: GlobalOptions): Promise<ExitCode> {
  const output = outputOf(globals)
  const home = homeOf(globals, { personal: false })
  const llamaServer = await configuredLlamaServer(home)
  const diagnosis = await diagnose(thisMachine(), { home, ...(llamaServer === undefined ? {} : { llamaServer }) })
  output.result(diagnosis, () => {
    const table = output.table(
      ['', 'WHAT', 'FOUND', 'GIVES'],
      diagnosis.findings.map((finding) => [verdict(finding), finding.name, finding.found, finding.gives]),
    )
    return process.stdout.isTTY ? `${table}\n\n${summary(diagnosis.ok)}` : table
  })
  return diagnosis.ok ? EXIT.ok : EXIT.failed
}

function verdict(finding: Finding): string {
  if (finding.ok) return 'ok'
  return finding.required ? 'FAIL' : 'none'
}

function summary(ok: boolean): string {
  return ok ? 'hal0 can run here.' : 'hal0 cannot run here until every FAIL above is mended.'
}

/** A settings file with mistakes is not doctor's subject: it then looks on PATH. */
async function configuredLlamaServer(home: Home): Promise<string | undefined> {
  const settings = await readDaemonSettings(home).catch(() => undefined)
  return settings?.runners['cpu']?.binary
}
