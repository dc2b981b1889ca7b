import type { NewEvent } from '../../contract/events.ts'
import { announce } from '../../events/announce.ts'
import type { Home } from '../../files/home.ts'
import { messageOf, toHal0Error } from '../../kernel/errors.ts'
import type { Log } from '../../kernel/log.ts'
import { firstFileOf, modelsFilePath, readModelRows } from '../models/models-file.ts'
import { type DaemonSettings, daemonSettingsPath, readDaemonSettings } from './daemon-settings.ts'

/** The parts of a home's settings that everybody asks for, as they were when they were last right. Source: SPEC 2 "last good version". */
export interface LiveSettings {
  settings(): DaemonSettings
  /** Ids of models.toml. */
  modelIds(): ReadonlySet<string>
  /** The (first) file of a model; undefined = there is no such row. */
  modelFile(id: string): string | undefined
  /** What is wrong with the files now, where what they said before still counts. Undefined = nothing. */
  problem(): string | undefined
  /**
   * Reads both files again, or those of them that are among `changed` (absolute paths): another one may be half written at this moment, which
   * reads as if keys had been taken out. A wrong one keeps what was, and is told to log and bus. Never rejects.
   */
  reload(changed?: readonly string[]): Promise<void>
}

export interface LiveSettingsDeps {
  readonly home: Home
  readonly log: Log
  readonly bus: { publish(event: NewEvent): void }
}

/** Errors: `config.invalid` when hal0.toml is wrong from the start: a daemon does not begin on half of what was meant. */
export async function openLiveSettings(deps: LiveSettingsDeps): Promise<LiveSettings> {
  let settings = await readDaemonSettings(deps.home)
  let modelIds: ReadonlySet<string> = new Set()
  let models: Awaited<ReturnType<typeof readModelRows>> = new Map()
  /** What is wrong with each part, so that it is told once. */
  const problems = new Map<string, string>()

  async function refresh(part: string, read: () => Promise<void>): Promise<void> {
    try {
      await read()
      if (problems.delete(part)) tell(deps, 'config.restored', 'info', `${part} is right again and counts from now on`)
    } catch (cause) {
      const problem = toHal0Error(cause).message || messageOf(cause)
      if (problems.get(part) === problem) return
      problems.set(part, problem)
      tell(deps, 'config.invalid', 'error', `${part} is wrong, what it said before still counts: ${problem}`)
    }
  }
  const readModels = () =>
    refresh('models.toml', async () => {
      models = await readModelRows(deps.home)
      modelIds = new Set(models.keys())
    })
  await readModels()

  return {
    settings: () => settings,
    modelIds: () => modelIds,
    modelFile: (id) => {
      const row = models.get(id)
      return row === undefined ? undefined : firstFileOf(row)
    },
    problem: () => (problems.size === 0 ? undefined : [...problems.values()].join('; ')),
    reload: async (changed) => {
      const isMeant = (part: string, path: string) =>
        changed === undefined || changed.includes(path) || problems.has(part)
      if (isMeant('hal0.toml', daemonSettingsPath(deps.home))) {
        await refresh('hal0.toml', async () => {
          settings = await readDaemonSettings(deps.home)
        })
      }
      if (isMeant('models.toml', modelsFilePath(deps.home))) await readModels()
    },
  }
}

function tell(deps: LiveSettingsDeps, type: string, severity: 'info' | 'error', message: string): void {
  announce(deps, { type, severity, source: 'config', message, data: {} })
}
