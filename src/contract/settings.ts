import { z } from 'zod'

/** GET /api/settings: hal0.toml with its defaults, as it is in effect. Secrets are redacted. Source: SPEC 2, 16. */
export const settingsViewSchema = z.object({
  /** The file they come from; it may be absent. */
  file: z.string(),
  settings: z.record(z.string(), z.unknown()),
})
export type SettingsView = z.infer<typeof settingsViewSchema>
