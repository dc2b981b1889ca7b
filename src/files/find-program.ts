import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'

/** Where PATH finds a program, as `execvp` would; undefined = nowhere. Relative PATH entries are skipped. */
export async function findProgram(name: string, pathVariable: string | undefined): Promise<string | undefined> {
  for (const folder of (pathVariable ?? '').split(delimiter)) {
    if (!isAbsolute(folder)) continue
    const candidate = join(folder, name)
    if (await isProgram(candidate)) return candidate
  }
  return undefined
}

/** Is this a file that this user may execute? */
export async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return (await stat(path)).isFile()
  } catch {
    return false
  }
}
