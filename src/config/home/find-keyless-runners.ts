import type { Home } from '../../files/home.ts'
import { createRunnerRegistry } from '../../runners/build-registry.ts'
import { defaultProfileOf, readProfile } from '../profiles/profiles-file.ts'
import { readDaemonSettings } from '../settings/daemon-settings.ts'
import { runnerKeyOf } from '../slots/rules/slot-defaults.ts'
import { listSlotFiles, readSlotFile } from '../slots/slot-file.ts'

/** A runner that can be used here and takes no engine key, with the slots that would use it, by name. */
export interface KeylessRunner {
  readonly key: string
  readonly slots: readonly string[]
}

/**
 * Which engines of this home could other users of the machine talk to without the gateway? Runners whose program is not here are left out.
 * With mistakes in hal0.toml only hal0's own runners are looked at; slots that cannot be read are left out. Never rejects. Source: SPEC 5 "Engine key".
 */
export async function findKeylessRunners(home: Home): Promise<readonly KeylessRunner[]> {
  const settings = await readDaemonSettings(home).catch(() => undefined)
  const keyless = createRunnerRegistry(settings?.runners ?? {})
    .all()
    .filter(({ keyEnv }) => keyEnv === undefined)
  const usable = await Promise.all(
    keyless.map(async (runner) =>
      runner.findCommand().then(
        () => [runner.key],
        () => [],
      ),
    ),
  )
  const runnerOf = await readRunnersOfSlots(home)
  return usable
    .flat()
    .map((key) => ({ key, slots: runnerOf.filter((slot) => slot.runner === key).map(({ name }) => name) }))
}

async function readRunnersOfSlots(home: Home): Promise<readonly { readonly name: string; readonly runner: string }[]> {
  const { names } = await listSlotFiles(home).catch(() => ({ names: [] }))
  const found = await Promise.all(
    names.map(async (name) => {
      const config = await readSlotFile(home, name).catch(() => undefined)
      if (config === undefined) return []
      const profile = await readProfile(home, config.profile ?? defaultProfileOf(config.type)).catch(() => undefined)
      return [{ name, runner: runnerKeyOf(config, profile?.body.runner) }]
    }),
  )
  return found.flat()
}
