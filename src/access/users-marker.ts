import { lstat, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { writeFileWhole } from '../files/atomic-write.ts'
import type { Home } from '../files/home.ts'
import { errnoOf } from '../kernel/errors.ts'

const NAME = 'users.defined'
const TEXT = `hal0: users are defined in hal0.db, beside this file.
While this file is here, hal0 is never open to everybody, also when hal0.db is damaged or gone.
`

/** The file that says that users were defined: without it a lost database would open every door. 0600, in the home's state folder. Source: SPEC 14. */
export interface UsersMarker {
  readonly path: string
  /** At the start; also when it cannot be told. */
  readonly wasThere: boolean
  /** Errors of both: the system's own. */
  write(): Promise<void>
  remove(): Promise<void>
}

export async function openUsersMarker(home: Home): Promise<UsersMarker> {
  const path = join(home.varLib, NAME)
  return {
    path,
    wasThere: await isThere(path),
    write: () => writeFileWhole(path, TEXT, 0o600),
    remove: () => rm(path, { force: true }),
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch (cause) {
    return errnoOf(cause) !== 'ENOENT'
  }
}
