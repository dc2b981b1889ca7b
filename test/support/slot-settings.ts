import { daemonSettingsSchema } from '../../src/config/settings/daemon-settings.ts'
import { type SlotSettings, slotSettingsOf } from '../../src/slots/settings.ts'

/** What hal0 does where nobody says otherwise, whatever the environment of the tests says. */
export const DEFAULT_SLOT_SETTINGS: SlotSettings = slotSettingsOf(daemonSettingsSchema.parse({}), {})
