/** SQLite's words for a disk that is full, broken or closed to writers, where what was read before is still what is there. */
const WRITE_ONLY: ReadonlySet<string> = new Set([
  'SQLITE_FULL',
  'SQLITE_READONLY',
  'SQLITE_READONLY_DIRECTORY',
  'SQLITE_IOERR_WRITE',
  'SQLITE_IOERR_FSYNC',
  'SQLITE_IOERR_DIR_FSYNC',
  'SQLITE_IOERR_TRUNCATE',
  'SQLITE_IOERR_SHMSIZE',
])

/**
 * Does this error mean only that nothing can be written? Not of a file that is damaged, busy, or another than was opened: somebody else may have
 * written there. `code`: SQLite's, extended. Source: SPEC 13 "Store unreadable".
 */
export function isWriteTrouble(code: string): boolean {
  return WRITE_ONLY.has(code)
}
