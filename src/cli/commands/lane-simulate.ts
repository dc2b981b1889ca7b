import { EXIT, type ExitCode } from '../exit-codes.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'

/** `hal0 lane simulate FILE`: the timeline of a scripted day. 2 when the file has mistakes. JSON: the report, or `{mistakes}`. Source: SPEC 18. */
export async function laneSimulate(file: string, globals: GlobalOptions): Promise<ExitCode> {
  const output = outputOf(globals)
  // Brings the engine room of the lanes along: no other command waits for that.
  const { simulate } = await import('../../simulator.ts')
  const played = await simulate(file)
  if (played.ok) {
    output.result(played.value.report, () => played.value.lines().join('\n'))
    return EXIT.ok
  }
  const mistakes = played.error.map(({ file: place, keyPath, expected }) => ({
    file: place,
    key: keyPath,
    message: expected,
  }))
  output.result({ mistakes }, () =>
    output.table(
      ['FILE', 'KEY', 'WHAT'],
      mistakes.map(({ file: place, key, message }) => [place, key, message]),
    ),
  )
  output.note(`${file}: ${mistakes.length} mistake${mistakes.length === 1 ? '' : 's'}; nothing was played`)
  return EXIT.usage
}
