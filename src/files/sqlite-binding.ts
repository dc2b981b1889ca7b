import { dirname } from 'node:path'
import Sqlite from 'better-sqlite3'
import { errnoOf, messageOf } from '../kernel/errors.ts'
import { findOwnPackage } from './find-package.ts'

const PACKAGE = 'better-sqlite3'

/** Why the compiled part of better-sqlite3 cannot be loaded, and the command that mends it; undefined = it can. Never throws. */
export function findBindingProblem(): string | undefined {
  try {
    new Sqlite(':memory:').close()
    return undefined
  } catch (cause) {
    return explainBinding(cause, findOwnPackage(PACKAGE)) ?? messageOf(cause)
  }
}

/**
 * Says what to do where opening a database failed for want of the compiled part; undefined = it failed for another reason.
 * `folder`: where the package is, undefined = unknown.
 */
export function explainBinding(cause: unknown, folder = findOwnPackage(PACKAGE)): string | undefined {
  const [line = ''] = messageOf(cause).split('\n')
  const isAbsent = line.startsWith('Could not locate the bindings file')
  if (!isAbsent && errnoOf(cause) !== 'ERR_DLOPEN_FAILED') return undefined
  // What follows the first line is every place that was looked at.
  const what = isAbsent
    ? `${PACKAGE} has no binding: its install script did not run`
    : `the binding of ${PACKAGE}: ${line}`
  const prefix = folder === undefined ? '' : ` --prefix ${dirname(dirname(folder))}`
  return `${what}; \`npm rebuild${prefix} ${PACKAGE}\` gets or makes it`
}
