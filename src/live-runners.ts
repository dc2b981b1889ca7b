import { isDeepStrictEqual } from 'node:util'
import type { LiveSettings } from './config/settings/live-settings.ts'
import { createRunnerRegistry } from './runners/build-registry.ts'
import type { RunnerRegistry } from './runners/registry.ts'

/** The runners of the settings as they are now; what runs keeps the one it was started with. */
export interface LiveRunners extends RunnerRegistry {
  /** The settings were read again. */
  reload(): void
}

/** `signal`: hal0 ends, and with it whatever engine is being asked about itself. */
export function createLiveRunners(live: Pick<LiveSettings, 'settings'>, signal: AbortSignal): LiveRunners {
  let settings = live.settings().runners
  let registry = createRunnerRegistry(settings, signal)
  return {
    find: (key) => registry.find(key),
    all: () => registry.all(),
    reload: () => {
      const next = live.settings().runners
      if (isDeepStrictEqual(next, settings)) return
      settings = next
      registry = createRunnerRegistry(next, signal)
    },
  }
}
