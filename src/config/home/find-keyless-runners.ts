import type { Home } from '../../files/home.ts'
import { createRunnerRegistry } from '../../runners/build-registry.ts'
import { readLaneUses } from '../lanes/lane-uses.ts'
import { defaultProfileOf, readProfile } from '../profiles/profiles-file.ts'
import { readDaemonSettings } from '../settings/daemon-settings.ts'
import { runnerKeyOf } from '../slots/rules/slot-defaults.ts'
import { listSlotFiles, readSlotFile } from '../slots/slot-file.ts'

/** A runner that can be used here and takes no engine key, with the slots and lanes that would use it, by name. */
export interface KeylessRunner {
  readonly key: string
  readonly slots: readonly string[]
  readonly lanes: readonly string[]
}

/**
 * Which engines of this home could other users of the machine talk to without the gateway? Runners whose program is not here are left out.
 * With mistakes in hal0.toml only hal0's own runners are looked at; slots and lanes that cannot be read are left out. Never rejects. Source: SPEC 5 "Engine key".
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
  const [slots, lanes] = await Promise.all([readRunnersOfSlots(home), readRunnersOfLanes(home)])
  const namesOf = (users: typeof slots, key: string) =>
    users.filter(({ runner }) => runner === key).map(({ name }) => name)
  return usable.flat().map((key) => ({ key, slots: namesOf(slots, key), lanes: namesOf(lanes, key) }))
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

/** By what each lane runs while nobody has booked it; a booking may name another profile. */
async function readRunnersOfLanes(home: Home): Promise<readonly { readonly name: string; readonly runner: string }[]> {
  const lanes = await readLaneUses(home).catch(() => [])
  return Promise.all(
    lanes.map(async ({ lane, runner, device, profile: named }) => {
      const profile = await readProfile(home, named ?? defaultProfileOf('llm')).catch(() => undefined)
      return { name: lane, runner: runnerKeyOf({ binary: runner, device }, profile?.body.runner) }
    }),
  )
}
