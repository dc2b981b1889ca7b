/** Which file has a name: its device and its number there. */
export interface FilePlace {
  readonly device: bigint
  readonly inode: bigint
}

/**
 * Is what was opened still the file of that name? `found`: what has the name now, undefined = nothing. The answer: why not, and what to do, in one
 * clause; undefined = it is. Source: SPEC 13 "Store unreadable".
 */
export function judgePlace(opened: FilePlace, found: FilePlace | undefined): string | undefined {
  if (found === undefined) {
    return 'hal0.db was deleted or moved away while hal0 runs: move it back, or put a copy in its place and start hal0 again'
  }
  if (found.device === opened.device && found.inode === opened.inode) return undefined
  return 'hal0.db was replaced while hal0 runs, which has the old file open: start hal0 again, it then goes on with the new one'
}
