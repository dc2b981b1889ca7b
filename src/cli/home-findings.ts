import { access } from 'node:fs/promises'
import { readDaemonSettings } from '../config/daemon-settings.ts'
import { modelsFilePath, readModels } from '../config/models-file.ts'
import { listSlotFiles, readSlotFile, slotsFolder } from '../config/slot-file.ts'
import type { Home } from '../files/home.ts'
import type { Finding } from '../hardware/finding.ts'
import { messageOf } from '../kernel/errors.ts'

/**
 * What doctor says about the files of a home: settings (the daemon does not start with mistakes in
 * them), slots, models. Not ok = a mistake, never just an absent file. Never rejects.
 */
export function findHomeFiles(home: Home): Promise<readonly Finding[]> {
  return Promise.all([findSettings(home), findSlots(home), findModels(home)])
}

async function findSettings(home: Home): Promise<Finding> {
  const base = { name: 'settings', required: true, gives: 'hal0.toml: where the daemon listens, limits, engines' }
  const problem = await readDaemonSettings(home).then(() => undefined, messageOf)
  return problem === undefined
    ? { ...base, ok: true, found: `${home.etc}/hal0.toml is absent or has no mistakes` }
    : { ...base, ok: false, found: `${problem}; the daemon does not start` }
}

async function findSlots(home: Home): Promise<Finding> {
  const base = { name: 'slots', required: false, gives: 'one file per slot: which model runs on which engine' }
  const listed = await listSlotFiles(home).catch(messageOf)
  if (typeof listed === 'string') return { ...base, ok: false, found: listed }
  const { names, unfit } = listed
  const models = await readModels(home).catch(() => undefined)
  const problems = await Promise.all(names.map((name) => findSlotProblem(home, name, models)))
  const found = problems.filter((problem) => problem !== undefined)
  found.push(...unfit.map((file) => `${slotsFolder(home)}/${file}: not the name of a slot`))
  if (found.length > 0) return { ...base, ok: false, found: found.join('; ') }
  if (names.length > 0) return { ...base, ok: true, found: names.join(', ') }
  return { ...base, ok: true, found: `no slot file yet in ${slotsFolder(home)}` }
}

/** `models` is undefined when models.toml itself cannot be read: then that is the finding. */
async function findSlotProblem(
  home: Home,
  name: string,
  models: ReadonlyMap<string, string> | undefined,
): Promise<string | undefined> {
  try {
    const id = (await readSlotFile(home, name))?.model.default ?? ''
    if (id === '' || models === undefined || models.has(id)) return undefined
    return `${name}: no model ${JSON.stringify(id)} in ${modelsFilePath(home)}`
  } catch (cause) {
    return messageOf(cause)
  }
}

async function findModels(home: Home): Promise<Finding> {
  const base = { name: 'models', required: false, gives: 'models.toml: the file of each model id' }
  const models = await readModels(home).catch(messageOf)
  if (typeof models === 'string') return { ...base, ok: false, found: models }
  const checked = await Promise.all(
    [...models].map(async ([id, path]) => ({
      id,
      problem: await access(path).then(
        () => undefined,
        () => `${id}: there is no readable ${path}`,
      ),
    })),
  )
  const problems = checked.flatMap(({ problem }) => problem ?? [])
  if (problems.length > 0) return { ...base, ok: false, found: problems.join('; ') }
  if (checked.length > 0) return { ...base, ok: true, found: checked.map(({ id }) => id).join(', ') }
  return { ...base, ok: true, found: `${modelsFilePath(home)} lists none yet` }
}
