import { basename, dirname } from 'node:path'
import { findKeylessRunners, type KeylessRunner } from '../config/home/find-keyless-runners.ts'
import { validateHome } from '../config/home/validate-home.ts'
import { readModels } from '../config/models/models-file.ts'
import { listSlotFiles } from '../config/slots/slot-file.ts'
import type { ConfigMistakeRow } from '../contract/config-report.ts'
import type { Home } from '../files/home.ts'
import type { Finding } from '../hardware/finding.ts'

/**
 * What doctor says about the files of a home: the report of `config validate`, by what the files are for, and which engines they make usable
 * by everyone on the machine. Not ok = a mistake, a model file that is not there, or such an engine; never just an absent settings file.
 * `isRunning`: a daemon has this home now. Never rejects.
 */
export async function findHomeFiles(
  home: Home,
  { isRunning }: { readonly isRunning: boolean },
): Promise<readonly Finding[]> {
  const consequence = isRunning
    ? '; a start would fail; the running one goes on with what it said before'
    : '; the daemon does not start'
  const { mistakes, warnings } = await validateHome(home)
  const gone = warnings.filter(({ code }) => code === 'slot.model_missing')
  const told = (isMeant: (row: ConfigMistakeRow) => boolean) => [...mistakes, ...gone].filter(isMeant).map(textOf)
  const secrets = warnings.filter(({ file }) => basename(file) === 'hal0.toml').map(textOf)
  const settings = told(({ file }) => basename(file) === 'hal0.toml')
  const models = told(({ file }) => basename(file) === 'models.toml')
  const profiles = told(({ file }) => basename(file) === 'profiles.toml')
  const slots = told(({ file }) => isSlotPlace(home, file))
  const names = await listSlotFiles(home).then(
    (listed) => listed.names,
    () => [],
  )
  const keyless = (await findKeylessRunners(home)).map((runner) => `${runner.key} (${usersText(runner)})`)
  const open =
    keyless.length === 0 ? [] : [`without a key: ${keyless.join(', ')}; other users of this machine can reach them`]
  const ids = await readModels(home).then(
    (rows) => [...rows.keys()],
    () => [],
  )
  return [
    {
      name: 'settings',
      required: true,
      gives: 'hal0.toml: where the daemon listens, limits, engines',
      ...verdict(settings, `${home.etc}/hal0.toml is absent or has no mistakes`, consequence),
    },
    {
      name: 'secrets',
      required: false,
      gives: 'passwords in hal0.toml that only hal0 reads',
      ...verdict(secrets, 'none that others can read'),
    },
    {
      name: 'slots',
      required: false,
      gives: 'one file per slot: which model runs on which engine',
      ...verdict(slots, names.join(', ') || `no slot file yet in ${home.etc}/slots`),
    },
    {
      name: 'profiles',
      required: false,
      gives: 'profiles.toml: how models are run, besides the built-in ones',
      ...verdict(profiles, `${home.etc}/profiles.toml is absent or has no mistakes`),
    },
    {
      name: 'models',
      required: false,
      gives: 'models.toml: the file of each model id',
      ...verdict(models, ids.join(', ') || `${home.etc}/models.toml lists none yet`),
    },
    {
      name: 'runner-keys',
      required: false,
      gives: 'engines that only the gateway can talk to',
      ...verdict(open, 'every engine that can be started here takes a key'),
    },
  ]
}

function usersText({ slots, lanes }: KeylessRunner): string {
  const users = [
    ...(slots.length === 0 ? [] : [`slots ${slots.join(', ')}`]),
    ...(lanes.length === 0 ? [] : [`lanes ${lanes.join(', ')}`]),
  ]
  return users.join('; ') || 'no slot uses it'
}

/** Slot files, their folder, and what stands between files (told with the folder of all settings). */
function isSlotPlace(home: Home, file: string): boolean {
  const slots = `${home.etc}/slots`
  return file === slots || dirname(file) === slots || file === home.etc
}

function verdict(problems: readonly string[], fine: string, consequence = ''): Pick<Finding, 'ok' | 'found'> {
  return problems.length === 0 ? { ok: true, found: fine } : { ok: false, found: problems.join('; ') + consequence }
}

function textOf({ file, key, message }: ConfigMistakeRow): string {
  return key === '' ? `${file}: ${message}` : `${file}: ${key}: ${message}`
}
