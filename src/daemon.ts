import { rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { type AccessWiring, wireAccess } from './access-wiring.ts'
import { createApi } from './api/api.ts'
import type { ModeTiming } from './arbiter/rules/timing.ts'
import { readBaseline } from './config/home/look-at-config.ts'
import { watchConfig } from './config/home/watch-config.ts'
import { openLiveLanes } from './config/lanes/live-lanes.ts'
import { openLiveSettings } from './config/settings/live-settings.ts'
import { choosePublicUrl } from './config/settings/public-url.ts'
import type { DaemonFile } from './contract/daemon-file.ts'
import type { NewEvent } from './contract/events.ts'
import type { DaemonFacts } from './contract/status.ts'
import { DAEMON_LOG, openDaemonLog } from './daemon-log.ts'
import { announce } from './events/announce.ts'
import type { EventBus } from './events/bus.ts'
import { createEventBus } from './events/memory-bus.ts'
import { writeFileWhole } from './files/atomic-write.ts'
import { daemonFilePath, type Home } from './files/home.ts'
import { openHomeId } from './files/home-id.ts'
import { lockHome } from './files/home-lock.ts'
import { prepareHome } from './files/prepare-home.ts'
import { openFleet } from './fleet.ts'
import { createFrontDoor, listen } from './front-door.ts'
import { gatewaySettingsOf } from './gateway/settings.ts'
import { upToDate, wireGateway } from './gateway-wiring.ts'
import { readHostMemory } from './hardware/memory.ts'
import type { MemoryMeter } from './hardware/memory-meter.ts'
import { systemClock } from './kernel/clock.ts'
import { messageOf } from './kernel/errors.ts'
import { isoTime } from './kernel/units.ts'
import { createLaneBindings } from './lanes/lane-bindings.ts'
import { createLiveRunners } from './live-runners.ts'
import { createManagement, createRegistries, furnishHome } from './management.ts'
import type { Pulls } from './models/pull/pulls.ts'
import { DEFAULT_LOG_LIMITS } from './runtimes/process/log-file.ts'
import { LogRotator } from './runtimes/process/log-rotator.ts'
import { createProcessRuntime } from './runtimes/process/process-runtime.ts'
import { createPortPool } from './slots/port-pool.ts'
import { slotSettingsOf } from './slots/settings.ts'
import type { Slots } from './slots/slots.ts'
import { openStore } from './store/open-store.ts'
import { openTimetable, type Timetable } from './timetable.ts'
import { ownVersion } from './version.ts'

export interface DaemonOptions {
  readonly home: Home
  /** Overrides `[server] host`. */
  readonly host?: string
  /** Overrides `[server] port`; 0 = any free one. */
  readonly port?: number
  /** Binds elsewhere than to this machine although no user is defined. */
  readonly insecure?: boolean
  /** Absent = this machine's own. */
  readonly meter?: MemoryMeter
  /** How long the GPU stays in a mode; absent = as SPEC 8 says. Only tests say otherwise. */
  readonly arbiterTiming?: ModeTiming
}

export interface Daemon {
  /** `http://HOST:PORT`, without a trailing slash. */
  readonly url: string
  readonly slots: Slots
  readonly bus: EventBus
  /** To be printed once: with it the first admin is made in a browser. Undefined = a user is defined. Source: SPEC 14. */
  readonly setUpToken: string | undefined
  /** Users were defined and cannot be read: why, and what to do. Undefined = hal0 is not locked. */
  readonly lock: string | undefined
  /** Resolves when the daemon has ended. */
  readonly closed: Promise<void>
  /** No new requests; those that run may end within `drainMs`; then engines (`on_exit`). A further call with less time shortens the first. */
  stop(options: { readonly drainMs: number }): Promise<void>
}

/** What has been opened, to be undone backwards. */
type Undo = () => Promise<void>

/**
 * The composition root: builds every room, wires it, serves until `stop`.
 * Errors: `server.already_running`, `config.invalid`, and the listen error (EADDRINUSE, EACCES, …) as Node gives it.
 */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const undo: Undo[] = []
  try {
    return await compose(options, undo)
  } catch (cause) {
    // Whatever fails on the way back, the lock goes last and the first reason is the one that is told.
    for (const step of undo.toReversed()) await step().catch(() => undefined)
    throw cause
  }
}

async function compose({ home, ...wish }: DaemonOptions, undo: Undo[]): Promise<Daemon> {
  const clock = systemClock
  await prepareHome(home, { writesEtc: false })
  const lock = await lockHome(home)
  undo.push(() => lock.release())
  const daemonLog = openDaemonLog(home, process.env['HAL0_LOG_LEVEL'] ?? 'info')
  const { log } = daemonLog
  undo.push(() => daemonLog.close())
  const bus = createEventBus({ clock, log })
  const baseline = await readBaseline(home, log)
  const live = await openLiveSettings({ home, log, bus })
  // What a daemon is built with; what may change while it runs is asked of `live`.
  const settings = live.settings()
  const host = wish.host ?? settings.server.host
  const store = openStore(home, { log, clock, publish: (event) => bus.publish(event) })
  undo.push(async () => store.close())
  /** Made with the slots, which others ask about it. */
  const later: { timetable?: Timetable } = {}
  const onFirstUser = (userId: string) => later.timetable?.adoptLocal(userId)
  const onUserGone: AccessWiring['onUserGone'] = (userId, why, by) => later.timetable?.releaseUser(userId, why, by) ?? 0
  const insecure = wish.insecure === true
  const access = await wireAccess({ home, store, live, bus, clock, log, host, insecure, onFirstUser, onUserGone })
  const { accounts, guard, openDoor } = access
  undo.push(async () => accounts.close())
  const runtime = createProcessRuntime({ homeId: await openHomeId(home), clock, log })

  const closing = new AbortController()
  undo.push(async () => closing.abort())
  const runners = createLiveRunners(live, closing.signal)
  let url = ''
  const gatewayPort = () => (url === '' ? undefined : Number(new URL(url).port))
  const ports = createPortPool(settings.slots.port_range, gatewayPort)
  const publicUrl = () => choosePublicUrl(live.settings().server.public_url, url, hostname())
  const memoryBytes = (await readHostMemory('/'))?.totalBytes ?? 0
  const registriesDeps = { home, live, runners, log, memoryBytes }
  const registries = createRegistries(registriesDeps)
  await furnishHome(registriesDeps, registries)
  await live.reload()
  const slotSettings = { ...slotSettingsOf(settings) }
  const gatewaySettings = { ...gatewaySettingsOf(settings) }
  let pulls: () => Pulls = () => {
    throw new Error('pulls are asked for before they are made')
  }
  const liveLanes = await openLiveLanes({ home, log, bus })
  const targets = createLaneBindings(liveLanes)
  const fleet = await openFleet({
    ...{ home, store, live, runners, runtime, ports, bus, clock, log },
    lanes: targets,
    laneRows: () => later.timetable?.lanes.rows({ kind: 'local_admin' }) ?? [],
    hasUsers: () => accounts.mode !== 'open',
    settings: slotSettings,
    pulls: () => pulls(),
    meter: wish.meter,
    arbiterTiming: wish.arbiterTiming,
  })
  const { slots } = fleet
  undo.push(async () => {
    await fleet.rest()
    await fleet.close()
  })
  undo.push(() => slots.close({ drainMs: 0, keepEngines: false }))

  const watch = watchConfig({
    home,
    baseline,
    clock,
    log,
    onChange: async (changed) => {
      await live.reload(changed)
      await liveLanes.reload(changed)
      // Those that hold them look afresh each time: what may change at once does.
      Object.assign(slotSettings, slotSettingsOf(live.settings()))
      Object.assign(gatewaySettings, gatewaySettingsOf(live.settings()))
      runners.reload()
      await slots.sync()
      fleet.look()
      await later.timetable?.look()
    },
  })
  undo.push(() => watch.close())
  const settingsWritten = (files: readonly string[]) => watch.poke(files)
  const timetable = await openTimetable({
    ...{ home, live, liveLanes, targets, fleet, bus, clock, log, settingsWritten },
    people: accounts,
    url: publicUrl,
    knownRunners: () => runners.all().map(({ key }) => key),
  })
  later.timetable = timetable
  undo.push(() => timetable.close())
  const management = createManagement(
    { ...registriesDeps, bus, clock, ports, fleet, gatewayPort, settingsWritten, accounts, timetable },
    registries,
  )
  undo.push(() => management.close())
  pulls = () => management.ports.pulls

  const { gateway, ledger, explain } = wireGateway({
    ...{ home, fleet, guard, live, runners, clock, log, bus },
    lanes: timetable.lanes.door,
    isOpenMode: () => accounts.mode === 'open',
    settings: gatewaySettings,
    onDemand: management.onDemand,
    writeInfo: daemonLog.writeInfo,
  })
  undo.push(async () => ledger.close())
  undo.push(() => gateway.close())
  const startedAt = isoTime(clock.nowMs())
  const facts = (): DaemonFacts => ({
    version: ownVersion(),
    url,
    home: home.label,
    pid: process.pid,
    started_at: startedAt,
  })
  const api = createApi({
    slots,
    bus,
    clock,
    log,
    guard,
    openDoor,
    daemon: facts,
    publicUrl,
    closing: closing.signal,
    ports: { ...management.ports, ...upToDate(management.ports, ledger) },
    explainRoute: explain,
  })
  const server = createFrontDoor({ gateway, api, log })
  ;({ url } = await listen(server, host, wish.port ?? settings.server.port))
  undo.push(async () => void server.close())

  const file: DaemonFile = { url, pid: process.pid, started_at: startedAt, local_key: access.localKey.secret }
  await writeFileWhole(daemonFilePath(home), `${JSON.stringify(file, null, 2)}\n`, 0o600)
  announce({ log, bus }, ofDaemon('daemon.started', `hal0 ${ownVersion()} serves ${url} from ${home.label}`))
  void slots.autoload()

  let end: () => void = () => {}
  const closed = new Promise<void>((resolve) => {
    end = resolve
  })
  new LogRotator({ clock, log, limits: DEFAULT_LOG_LIMITS }).watchUntil(join(home.varLog, DAEMON_LOG), closed)
  const keepEngines = settings.slots.on_exit === 'keep'

  async function shutDown(drainMs: number): Promise<void> {
    announce({ log, bus }, ofDaemon('daemon.stopping', 'hal0 stops'))
    closing.abort()
    const serverClosed = new Promise((resolve) => server.close(resolve))
    try {
      timetable.lanes.close()
      await Promise.all([watch.close(), management.close(), fleet.rest()])
      await slots.close({ drainMs, keepEngines })
      await gateway.close()
      ledger.close()
      await timetable.close()
      await fleet.close()
      accounts.close()
      store.close()
    } finally {
      server.closeAllConnections()
      await serverClosed
      await rm(daemonFilePath(home), { force: true }).catch((cause: unknown) => {
        log.warn({ reason: messageOf(cause) }, 'could not remove daemon.json')
      })
      end()
      await daemonLog.close()
      await lock.release()
    }
  }
  let stopping: Promise<void> | undefined
  return {
    url,
    slots,
    bus,
    setUpToken: accounts.setUpToken,
    lock: accounts.lock,
    closed,
    stop: ({ drainMs }) => {
      if (stopping === undefined) stopping = shutDown(drainMs)
      else void slots.close({ drainMs, keepEngines })
      return stopping
    },
  }
}

function ofDaemon(type: string, message: string): NewEvent {
  return { type, severity: 'info', source: 'daemon', message, data: {} }
}
