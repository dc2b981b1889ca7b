import type { PullJob } from '../../contract/pull.ts'
import { GIB, gibText, MIB } from '../../kernel/units.ts'

/** In one line: how far is this pull? It changes with each whole percent, not with each byte. */
export function describePull({ repo, state, done_bytes, total_bytes }: PullJob): string {
  if (state === 'verifying') return `checking what was fetched from ${repo}`
  if (total_bytes === null || total_bytes === 0) return `asking for the files of ${repo === '' ? 'the model' : repo}`
  // 100 % is for the end, which is told otherwise.
  const percent = Math.min(99, Math.floor((100 * done_bytes) / total_bytes))
  return `fetching ${repo}: ${percent} % of ${sizeOf(total_bytes)}`
}

function sizeOf(bytes: number): string {
  return bytes >= GIB ? gibText(bytes) : `${Math.max(1, Math.round(bytes / MIB))} MiB`
}
