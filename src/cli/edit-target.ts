import { join } from 'node:path'
import { daemonSettingsPath } from '../config/daemon-settings.ts'
import { modelsFilePath } from '../config/models-file.ts'
import { slotFilePath } from '../config/slot-file.ts'
import { NAME_PATTERN } from '../contract/names.ts'
import type { Home } from '../files/home.ts'
import { UsageError } from './cli-error.ts'

/** A settings file that `hal0 config edit` can edit. */
export interface EditTarget {
  /** Absolute. */
  readonly file: string
  /** The slot whose file it is; its writes pass the gate. */
  readonly slot: string | undefined
  /** When the change takes effect, for people. */
  readonly afterwards: string
}

/** Which file is meant by the words of `hal0 config edit`? Errors: UsageError. */
export function editTargetOf(home: Home, what: string, name: string | undefined): EditTarget {
  if (what === 'slot') {
    if (name === undefined) throw new UsageError('Which slot?', 'Write: hal0 config edit slot NAME')
    if (!NAME_PATTERN.test(name)) throw new UsageError(`${JSON.stringify(name)} cannot be the name of a slot.`)
    return { file: slotFilePath(home, name), slot: name, afterwards: `saved; hal0 slot restart ${name} applies it` }
  }
  if (name !== undefined) throw new UsageError(`${what} takes no name.`, `Write: hal0 config edit ${what}`)
  switch (what) {
    case 'hal0':
      return { file: daemonSettingsPath(home), slot: undefined, afterwards: 'saved; a start of the daemon applies it' }
    case 'profiles':
      return {
        file: join(home.etc, 'profiles.toml'),
        slot: undefined,
        afterwards: 'saved; slots take it up at their next start',
      }
    case 'models':
      return { file: modelsFilePath(home), slot: undefined, afterwards: 'saved; slots take it up at their next start' }
    default:
      throw new UsageError(
        `There is no settings file ${JSON.stringify(what)}.`,
        'Known are hal0, slot NAME, profiles and models.',
      )
  }
}
