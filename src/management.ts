import type { AccountRooms } from './access/create-accounts.ts'
import type { ManagementPorts } from './api/api-context.ts'
import { validateHome } from './config/home/validate-home.ts'
import { createModels } from './config/models/model-registry.ts'
import type { Models } from './config/models/models.ts'
import { firstFileOf, modelsFilePath, readModelRows, registerModel } from './config/models/models-file.ts'
import { refuseNameClash } from './config/models/taken-names.ts'
import { createProfiles } from './config/profiles/profile-store.ts'
import type { Profiles } from './config/profiles/profiles.ts'
import { profilesFilePath } from './config/profiles/profiles-file.ts'
import { rewriteRetiredProfileKeys } from './config/profiles/write-profiles.ts'
import { redactSettings } from './config/settings/daemon-settings.ts'
import type { LiveSettings } from './config/settings/live-settings.ts'
import { addTombstone } from './config/slots/seed-record.ts'
import { type SeedDeps, seedHome, seedSlots } from './config/slots/seed-slots.ts'
import { readConfigText } from './config/toml/config-text.ts'
import type { EventBus } from './events/bus.ts'
import { BUNDLED_MODEL, BUNDLED_MODEL_ID } from './files/bundled-model.ts'
import { type Home, modelStoreFolder } from './files/home.ts'
import type { Fleet } from './fleet.ts'
import type { OnDemandSlot } from './gateway/send-to-slot.ts'
import { readHardware } from './hardware/read-hardware.ts'
import type { Clock } from './kernel/clock.ts'
import { messageOf } from './kernel/errors.ts'
import type { Log } from './kernel/log.ts'
import { createPulls } from './models/pull/create-pulls.ts'
import { hubSettings } from './models/pull/hub-settings.ts'
import { listRunners } from './runners/list-runners.ts'
import type { RunnerRegistry } from './runners/registry.ts'
import { createSlotAdmin } from './slots/create-slot-admin.ts'
import type { PortPool } from './slots/port-pool.ts'
import { remadeSoonError } from './slots/slot-failures.ts'
import type { Timetable } from './timetable.ts'
import { ownVersion } from './version.ts'

export interface RegistriesDeps {
  readonly home: Home
  readonly live: LiveSettings
  readonly runners: RunnerRegistry
  readonly log: Log
  readonly memoryBytes: number
}

/** The settings of a home as objects, before there are slots. */
export interface Registries {
  readonly profiles: Profiles
  readonly models: Models
  readonly seeding: SeedDeps
  /** Absolute. */
  readonly storeFolder: () => string
}

/** Builds the registries. Touches nothing. */
export function createRegistries({ home, live, runners, memoryBytes }: RegistriesDeps): Registries {
  const runnerKeys = () => runners.all().map((runner) => runner.key)
  const hasProgram = async (key: string) => {
    const found = runners.find(key)?.findCommand()
    return (await found?.catch(() => undefined)) !== undefined
  }
  const storeFolder = () => live.settings().models.store ?? modelStoreFolder(home)
  const profiles = createProfiles({ home, knownRunners: runnerKeys, version: ownVersion() })
  const models = createModels({ home, storeFolder, scanFolders: () => live.settings().models.scan })
  return { profiles, models, seeding: { home, runnerKeys, memoryBytes, profiles, hasProgram }, storeFolder }
}

/**
 * What a home is given at its first start: the bundled model and the seed slots; and what an older hal0 wrote is brought up to date. A home
 * whose settings cannot be written is served as it is. Never rejects.
 */
export async function furnishHome({ home, log }: RegistriesDeps, { seeding }: Registries): Promise<void> {
  try {
    if ((await readConfigText(modelsFilePath(home))) === 'absent')
      await registerModel(home, BUNDLED_MODEL_ID, BUNDLED_MODEL)
    await rewriteRetiredProfileKeys(home, log)
    const seeded = await seedHome(seeding)
    if (seeded !== undefined) log.info(seeded, 'first start of this home: seed slots made')
  } catch (cause) {
    log.warn({ reason: messageOf(cause) }, 'the settings of this home could not be furnished; it is served as it is')
  }
}

export interface ManagementDeps extends RegistriesDeps {
  readonly bus: EventBus
  readonly clock: Clock
  readonly ports: PortPool
  readonly fleet: Fleet
  readonly accounts: AccountRooms
  readonly timetable: Timetable
  /** The port that hal0 itself listens on. */
  readonly gatewayPort: () => number | undefined
  /** hal0 itself has written these files (absolute paths): everybody looks at them. */
  readonly settingsWritten: (files: readonly string[]) => Promise<void>
}

export interface Management {
  readonly ports: ManagementPorts
  readonly onDemand: OnDemandSlot
  close(): Promise<void>
}

/** What people and the gateway manage besides running slots. Every write is followed by a look at the settings. Source: SPEC 16. */
export function createManagement(deps: ManagementDeps, registries: Registries): Management {
  const { home, live, runners, fleet, ports, gatewayPort, bus, clock, log, settingsWritten, accounts, timetable } = deps
  const { slots } = fleet
  const { models, profiles, seeding, storeFolder } = registries
  const admin = createSlotAdmin({
    home,
    source: fleet.source,
    slots,
    ports,
    gatewayPort,
    runners,
    history: fleet.store.loads,
    seeds: {
      reseed: (names) => seedSlots(seeding, names === undefined ? { kind: 'reseed' } : { kind: 'named', names }),
      addTombstone: (name) => addTombstone(home, name),
    },
  })
  const pulls = createPulls({
    storeFolder,
    hub: () => hubSettings({ ...process.env, ...endpointOf(live) }),
    clock,
    log,
    publish: (event) => bus.publish(event),
    rowOf: async (id) => (await readModelRows(home)).get(id),
    isTaken: async (id, path, repo) => {
      const rows = await readModelRows(home)
      const row = rows.get(id)
      if (row === undefined) await refuseNameClash(home, rows, id)
      return row !== undefined && row.hf_repo !== repo && firstFileOf(row) !== path
    },
    register: async (id, facts) => {
      const isThere = (await readModelRows(home)).has(id)
      await (isThere ? models.update(id, facts) : models.add({ id, ...facts }))
      await settingsWritten([modelsFilePath(home)])
    },
  })
  const written =
    (file: string) =>
    async <T>(result: Promise<T>): Promise<T> => {
      const value = await result
      await settingsWritten([file])
      return value
    }
  const profilesWritten = written(profilesFilePath(home))
  const modelsWritten = written(modelsFilePath(home))
  let making: Promise<unknown> | undefined
  const makeOnDemand = async (name: string): Promise<void> => {
    // A file made by hand a moment ago is that slot.
    await slots.syncFiles()
    if (slots.row(name) === undefined) await admin.create({ name, autoload: false, pinned: false })
  }

  return {
    ports: {
      admin,
      profiles: {
        ...profiles,
        create: (input) => profilesWritten(profiles.create(input)),
        update: (name, patch) => profilesWritten(profiles.update(name, patch)),
        remove: async (name) => {
          timetable.refuseBooked({ kind: 'profile', profile: name })
          await profilesWritten(profiles.remove(name))
        },
        importEnvelope: (input) => profilesWritten(profiles.importEnvelope(input)),
      },
      models: {
        ...models,
        add: (input) => modelsWritten(models.add(input)),
        update: (id, patch) => modelsWritten(models.update(id, patch)),
        remove: async (id, options) => {
          timetable.refuseBooked({ kind: 'model', model: id })
          return modelsWritten(models.remove(id, options))
        },
        scan: (input) => modelsWritten(models.scan(input)),
      },
      pulls,
      runners: () => listRunners(runners),
      hardware: () => readHardware(fleet.hardware),
      problems: () => ({
        settings_problem: live.problem() ?? null,
        history_problem: fleet.store.problem ?? null,
        notify_problem: timetable.notices.problem ?? null,
      }),
      loads: fleet.store.loads,
      usage: fleet.store.usage,
      capacity: () => fleet.desk.capacity(),
      metrics: () => fleet.metrics.render(),
      arbiter: fleet.arbiter,
      lanes: timetable.lanes,
      laneFiles: timetable.laneFiles,
      bookings: timetable.bookings,
      notices: timetable.notices,
      accounts,
      sessions: accounts,
      validate: () => validateHome(home, { runnerKeys: seeding.runnerKeys() }),
      settings: () => redactSettings(live.settings()),
    },
    onDemand: {
      ensure: async () => {
        const name = live.settings().dispatcher.on_demand_slot
        if (name === '') return
        if (slots.leavingFor(name) !== undefined) throw remadeSoonError(name)
        if (slots.row(name) !== undefined) return
        making ??= makeOnDemand(name).finally(() => {
          making = undefined
        })
        await making
      },
    },
    close: () => pulls.close(),
  }
}

function endpointOf(live: LiveSettings): { HF_ENDPOINT?: string } {
  const endpoint = live.settings().models.hub_endpoint
  return endpoint === undefined ? {} : { HF_ENDPOINT: endpoint }
}
