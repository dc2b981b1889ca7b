import type { Dispatcher } from 'undici'
import { errorBody } from '../../contract/error-body.ts'
import type { NewEvent } from '../../contract/events.ts'
import type { ModelFacts } from '../../contract/model.ts'
import type { PullJob, PullRequest } from '../../contract/pull.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Hal0Error, messageOf, toHal0Error } from '../../kernel/errors.ts'
import type { Log } from '../../kernel/log.ts'
import { HOUR_MS } from '../../kernel/units.ts'
import { carryOutPull, notRegistered } from './carry-out-pull.ts'
import { Hub } from './hub.ts'
import { createHubDispatcher } from './hub-http.ts'
import type { HubSettings } from './hub-settings.ts'
import { resumableBytes } from './part-file.ts'
import { chooseRepo, filesOf, type PullPlan, preparePull } from './prepare-pull.ts'
import type { Pulls } from './pulls.ts'
import { RunningPull } from './running-pull.ts'
import { freeBytesOf, makeStoreFolder, requireSpace } from './store-files.ts'
import { looksStored } from './stored-file.ts'
import { sweepParts } from './sweep-parts.ts'

/** What pulls need from above and from the system. */
export interface PullsDeps {
  /** The model store, absolute; made when it is missing. Asked for each pull and each sweep: settings change while the daemon runs. */
  readonly storeFolder: () => string
  /** From `hubSettings`; asked for each pull, which fails with its errors (`config.invalid`). */
  readonly hub: () => HubSettings
  readonly clock: Clock
  readonly log: Log
  /** `model.pulled`, `model.pull_failed`. Never throws. */
  readonly publish: (event: NewEvent) => void
  /** The row of models.toml; undefined = there is none. Errors: `config.invalid`. */
  readonly rowOf: (id: string) => Promise<ModelFacts | undefined>
  /**
   * Is the id that of another model, so that a pull from `repo` to `path` (its first file) must not take it?
   * Errors: `validation.invalid` (it is the name of something else).
   */
  readonly isTaken: (id: string, path: string, repo: string) => Promise<boolean>
  /** Adds the row, or brings it up to date: all files are there. `facts.path` is set; `files` for a split model. */
  readonly register: (id: string, facts: ModelFacts) => Promise<void>
  /** Default: what the file system says. */
  readonly freeBytes?: (folder: string) => Promise<number>
  /** Default: connections of our own, through the proxy of the environment. */
  readonly dispatcher?: Dispatcher
}

/** Both ends of one pull. */
interface PullPlaces {
  readonly hub: Hub
  readonly storeFolder: string
}

/** The pulls of a daemon. Sweeps forgotten parts now and every hour. Source: SPEC 16. */
export function createPulls(deps: PullsDeps): Pulls {
  const { clock, log } = deps
  const freeBytes = deps.freeBytes ?? freeBytesOf
  /** Connections by the endpoint they lead to: there is one, unless the settings change. */
  const dispatchers = new Map<string, Dispatcher>()
  /** By model id, in the order of their start. */
  const pulls = new Map<string, RunningPull>()
  const running = new Map<RunningPull, Promise<void>>()
  /** Final name → the pull that writes it. */
  const claims = new Map<string, RunningPull>()
  let isClosed = false
  let sweeping = Promise.resolve()
  let cancelSweep = (): void => {}

  function sweep(): void {
    const isOwned = (path: string): boolean => [...claims.keys()].some((target) => path.startsWith(`${target}.`))
    sweeping = sweepParts(deps.storeFolder(), clock.nowMs(), isOwned).then((removed) => {
      if (removed.length > 0) log.info({ removed }, 'removed parts of pulls that nobody took up for a day')
    })
    cancelSweep = clock.setTimer(HOUR_MS, sweep)
  }
  sweep()

  /** Where a pull that begins now gets its files from, and where it puts them: it stays with both to its end. */
  function findPlaces(): PullPlaces {
    const settings = deps.hub()
    const dispatcher = deps.dispatcher ?? dispatchers.get(settings.endpoint) ?? createHubDispatcher(settings.endpoint)
    if (deps.dispatcher === undefined) dispatchers.set(settings.endpoint, dispatcher)
    return { hub: new Hub({ ...settings, clock, dispatcher }), storeFolder: deps.storeFolder() }
  }

  function find(id: string): RunningPull {
    const pull = pulls.get(id)
    if (pull !== undefined) return pull
    throw Hal0Error.of('model.not_found', `there was no pull of ${id} since the daemon started`, {
      details: { model: id, remedy: 'Begin one with `hal0 model pull`.' },
    })
  }

  function claim(pull: RunningPull, plan: PullPlan): void {
    for (const { target, file } of filesOf(plan)) {
      const owner = claims.get(target)
      if (owner === undefined) continue
      throw Hal0Error.of(
        'pull.in_progress',
        `${file.path} of ${plan.at.repo} is being pulled for the model ${owner.id}`,
        {
          details: { model: owner.id, file: file.path },
        },
      )
    }
    for (const { target } of filesOf(plan)) claims.set(target, pull)
  }

  function release(pull: RunningPull): void {
    for (const [target, owner] of claims) if (owner === pull) claims.delete(target)
  }

  /** Up to the point where everything that can be known beforehand is known. */
  async function prepare(pull: RunningPull, request: PullRequest, places: PullPlaces): Promise<PullPlan> {
    const { id } = pull
    const { hub, storeFolder } = places
    const { signal } = pull.stop
    const row = await deps.rowOf(id)
    const repo = chooseRepo(id, request, row)
    pull.setRepo(repo)
    const plan = await preparePull(hub, storeFolder, repo, request, row, signal)
    const [first] = plan.model
    if (await deps.isTaken(id, first.target, repo)) {
      throw Hal0Error.of(
        'model.exists',
        `the id ${id} is that of another model, not of ${first.file.path} of ${repo}`,
        {
          details: { model: id, file: first.file.path },
        },
      )
    }
    claim(pull, plan)
    const files = []
    for (const { file, target, relative } of filesOf(plan)) {
      await makeStoreFolder(storeFolder, relative)
      const onDiskBytes = (await looksStored(target, file)) ? file.sizeBytes : await resumableBytes(target, file)
      files.push({ path: file.path, sizeBytes: file.sizeBytes, onDiskBytes })
    }
    pull.setFiles(files)
    await requireSpace(storeFolder, pull.restBytes, freeBytes)
    signal.throwIfAborted()
    return plan
  }

  /** In the background; ends the pull in any case and never rejects. */
  async function run(pull: RunningPull, plan: PullPlan, { hub, storeFolder }: PullPlaces): Promise<void> {
    const { id } = pull
    const source = `model:${id}`
    const about = { model: id, repo: plan.at.repo, files: filesOf(plan).map(({ file }) => file.path) }
    try {
      const checkSpace = (): Promise<void> => requireSpace(storeFolder, pull.restBytes, freeBytes)
      const facts = await carryOutPull({ hub, clock, log: log.child({ model: id }), checkSpace }, pull, plan)
      await deps.register(id, facts).catch((cause: unknown) => {
        throw notRegistered(id, facts, cause)
      })
      release(pull)
      pull.end('done')
      log.info(about, 'a model was pulled')
      const data = { ...about, size_bytes: pull.job.total_bytes, path: facts.path }
      deps.publish({ type: 'model.pulled', severity: 'info', source, message: `${id} was pulled`, data })
    } catch (cause) {
      release(pull)
      if (pull.stop.signal.aborted) return pull.end('cancelled')
      const error = toHal0Error(cause)
      pull.end('failed', errorBody(error).error)
      log.warn({ ...about, err: cause }, 'a pull failed')
      const message = `the pull of ${id} failed: ${error.message}`
      const data = { ...about, code: error.code, reason: error.message }
      deps.publish({ type: 'model.pull_failed', severity: 'error', source, message, data })
    }
  }

  async function start(id: string, request: PullRequest): Promise<PullJob> {
    if (isClosed) throw Hal0Error.of('internal', 'no pull begins any more: the daemon is stopping')
    const before = pulls.get(id)
    if (before !== undefined && !before.isOver) {
      throw Hal0Error.of('pull.in_progress', `the model ${id} is being pulled already`, { details: { model: id } })
    }
    const pull = new RunningPull(id, clock)
    // Last in the map = newest.
    pulls.delete(id)
    pulls.set(id, pull)
    let onPrepared = (): void => {}
    running.set(pull, new Promise((resolve) => (onPrepared = resolve)))
    try {
      const places = findPlaces()
      const plan = await prepare(pull, request, places)
      running.set(
        pull,
        run(pull, plan, places).finally(() => running.delete(pull)),
      )
      return pull.job
    } catch (cause) {
      running.delete(pull)
      release(pull)
      if (pull.stop.signal.aborted) {
        pull.end('cancelled')
        return pull.job
      }
      // Whoever started it is told; it never was a pull that others would want to see.
      pull.end('failed', errorBody(toHal0Error(cause)).error)
      pulls.delete(id)
      if (before !== undefined) pulls.set(id, before)
      throw cause
    } finally {
      onPrepared()
    }
  }

  /** Resolves when nothing of it goes on: first it is prepared, then it runs. */
  async function stop(pull: RunningPull): Promise<void> {
    pull.stop.abort()
    while (running.has(pull)) await running.get(pull)
  }

  async function cancel(id: string): Promise<PullJob> {
    const pull = find(id)
    await stop(pull)
    return pull.job
  }

  return {
    start,
    list: () => [...pulls.values()].toReversed().map(({ job }) => job),
    show: (id) => find(id).job,
    cancel,
    follow: (id, signal) => find(id).follow(signal),
    close: async () => {
      isClosed = true
      cancelSweep()
      await Promise.all([...running.keys()].map(stop))
      await sweeping
      // A dispatcher that was given is its giver's.
      for (const dispatcher of dispatchers.values())
        await dispatcher
          .destroy()
          .catch((cause: unknown) => log.warn({ reason: messageOf(cause) }, 'connections to the hub did not end'))
    },
  }
}
