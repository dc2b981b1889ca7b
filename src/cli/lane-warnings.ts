import type { GlobalOptions } from './globals.ts'
import type { Output } from './output.ts'
import { localTimes } from './rules/local-times.ts'
import { openTimes } from './times.ts'

/** What the daemon finds worth knowing of a lane's file that was written, on stderr; with --json it is in the answer. */
export async function tellLaneWarnings(
  output: Output,
  warnings: readonly string[],
  options: GlobalOptions,
): Promise<void> {
  if (output.json || warnings.length === 0) return
  const { zone } = await openTimes(options, output)
  for (const text of warnings) output.note(`warning: ${localTimes(text, zone)}`)
}
