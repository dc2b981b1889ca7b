import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { NewEvent } from '../../../src/contract/events.ts'
import type { ModelFacts } from '../../../src/contract/model.ts'
import type { PullJob } from '../../../src/contract/pull.ts'
import { silentLog } from '../../../src/kernel/log.ts'
import { createPulls, type PullsDeps } from '../../../src/models/pull/create-pulls.ts'
import type { Pulls } from '../../../src/models/pull/pulls.ts'
import { StandInHub, type StandInHubOptions } from './hub.ts'
import { HurriedClock } from './hurried-clock.ts'

/** Pulls that speak to a stand-in hub, with a store in a temporary folder. */
export interface PullHarness {
  readonly hub: StandInHub
  readonly clock: HurriedClock
  readonly store: string
  readonly events: NewEvent[]
  readonly registered: Map<string, ModelFacts>
  /** What is free on the disk; may be changed. */
  disk: { freeBytes: number }
  readonly pulls: Pulls
  /** A daemon that was started again: the old pulls are closed, new ones see the same store. */
  restart(): Promise<void>
  /** The pull when it is over. */
  finished(id: string): Promise<PullJob>
  /** All files in the store, relative, sorted. */
  storedFiles(): Promise<readonly string[]>
  close(): Promise<void>
}

/** Rejects when the condition does not come true; the wait costs no fixed time. */
export async function until(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const endMs = performance.now() + 20_000
  while (!(await isTrue())) {
    if (performance.now() > endMs) throw new Error(`it did not happen: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

export async function startPullHarness(
  options: StandInHubOptions,
  deps: Partial<PullsDeps> & { readonly token?: string } = {},
): Promise<PullHarness> {
  const folder = await mkdtemp(join(tmpdir(), 'hal0-pull-'))
  const store = join(folder, 'models')
  const hub = await StandInHub.start(options)
  const clock = new HurriedClock()
  const events: NewEvent[] = []
  const registered = new Map<string, ModelFacts>()
  const disk = { freeBytes: Number.MAX_SAFE_INTEGER }
  const create = (): Pulls =>
    createPulls({
      storeFolder: () => store,
      hub: () => ({ endpoint: hub.endpoint, token: () => Promise.resolve(deps.token) }),
      clock,
      log: silentLog,
      publish: (event) => events.push(event),
      rowOf: (id) => Promise.resolve(registered.get(id)),
      isTaken: (id, path) => Promise.resolve((registered.get(id)?.path ?? path) !== path),
      register: (id, facts) => Promise.resolve(void registered.set(id, facts)),
      freeBytes: () => Promise.resolve(disk.freeBytes),
      ...deps,
    })
  let pulls = create()
  return {
    hub,
    clock,
    store,
    events,
    registered,
    disk,
    get pulls() {
      return pulls
    },
    restart: async () => {
      await pulls.close()
      pulls = create()
    },
    finished: async (id) => {
      await until(`the pull of ${id} ends`, () => pulls.show(id).finished_at !== null)
      return pulls.show(id)
    },
    storedFiles: async () => {
      const entries = await readdir(store, { recursive: true, withFileTypes: true }).catch(() => [])
      const files = entries.filter((entry) => !entry.isDirectory())
      return files.map((entry) => join(entry.parentPath, entry.name).slice(store.length + 1)).toSorted()
    },
    close: async () => {
      await pulls.close()
      await hub.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
