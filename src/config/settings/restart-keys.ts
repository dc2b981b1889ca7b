import { isDeepStrictEqual } from 'node:util'
import { parseToml } from '../toml/toml-file.ts'
import { type DaemonSettings, daemonSettingsSchema } from './daemon-settings.ts'

/** The keys of hal0.toml with which a daemon is built: a change of one waits for its next start, all others count at once. */
const RESTART_KEYS: Readonly<Record<string, (settings: DaemonSettings) => unknown>> = {
  'server.host': ({ server }) => server.host,
  'server.port': ({ server }) => server.port,
  'slots.port_range': ({ slots }) => slots.port_range,
  'slots.on_exit': ({ slots }) => slots.on_exit,
}

/** Which of the keys that wait for the daemon's next start differ between two texts of hal0.toml? A text with mistakes counts as an empty one. */
export function changedRestartKeys(before: string, after: string): string[] {
  const [old, fresh] = [settingsOf(before), settingsOf(after)]
  return Object.entries(RESTART_KEYS).flatMap(([key, valueOf]) =>
    isDeepStrictEqual(valueOf(old), valueOf(fresh)) ? [] : [key],
  )
}

function settingsOf(text: string): DaemonSettings {
  const parsed = parseToml('hal0.toml', text, daemonSettingsSchema)
  return parsed.ok ? parsed.value : daemonSettingsSchema.parse({})
}
