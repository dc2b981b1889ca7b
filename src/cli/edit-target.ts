import { join } from 'node:path'
import { modelsFilePath } from '../config/models/models-file.ts'
import { daemonSettingsPath } from '../config/settings/daemon-settings.ts'
import { changedRestartKeys } from '../config/settings/restart-keys.ts'
import { slotFilePath } from '../config/slots/slot-file.ts'
import { NAME_PATTERN } from '../contract/names.ts'
import type { Home } from '../files/home.ts'
import { selectNearest } from '../kernel/nearest-word.ts'
import { UsageError } from './cli-error.ts'

/** The words that name a file of the home. */
const KINDS = ['hal0', 'slot', 'profiles', 'models'] as const

/** A settings file that `hal0 config edit` can edit. */
export interface EditTarget {
  /** Absolute. */
  readonly file: string
  /** The slot whose file it is; its writes pass the gate. */
  readonly slot: string | undefined
  /** When the change takes effect, for people, by what the file said before and says now. */
  readonly afterwards: (before: string, after: string) => string
}

/** Which file is meant by the words of `hal0 config edit`? Errors: UsageError. */
export function editTargetOf(home: Home, what: string, name: string | undefined): EditTarget {
  const kind = KINDS.find((one) => one === what)
  if (kind === undefined) throw noSuchKind(what)
  if (kind === 'slot') {
    if (name === undefined) throw new UsageError('Which slot?', 'Write: hal0 config edit slot NAME')
    if (!NAME_PATTERN.test(name)) throw new UsageError(`${JSON.stringify(name)} cannot be the name of a slot.`)
    return {
      file: slotFilePath(home, name),
      slot: name,
      afterwards: () => `saved; hal0 slot restart ${name} applies it`,
    }
  }
  if (name !== undefined) throw new UsageError(`${what} takes no name.`, `Write: hal0 config edit ${what}`)
  switch (kind) {
    case 'hal0':
      return {
        file: daemonSettingsPath(home),
        slot: undefined,
        afterwards: afterSettings,
      }
    case 'profiles':
      return {
        file: join(home.etc, 'profiles.toml'),
        slot: undefined,
        afterwards: atNextStart,
      }
    case 'models':
      return { file: modelsFilePath(home), slot: undefined, afterwards: atNextStart }
  }
}

const atNextStart = () => 'saved; slots take it up at their next start'

function afterSettings(before: string, after: string): string {
  const keys = changedRestartKeys(before, after)
  const waiting = keys.length === 0 ? '' : `, but ${keys.join(', ')} at its next start`
  return `saved; a daemon that runs reads it at once${waiting}`
}

function noSuchKind(what: string): UsageError {
  const nearest = selectNearest(what, KINDS)
  return new UsageError(
    `There is no file kind ${what}; expected hal0, slot NAME, profiles or models.`,
    `Write: hal0 config edit ${nearest === undefined || nearest === 'slot' ? 'slot NAME' : nearest}`,
  )
}
