import { noProgramText } from '../contract/missing-program.ts'
import { findProgram, isProgram } from '../files/find-program.ts'
import { Hal0Error } from '../kernel/errors.ts'

/** Where the program of a runner is looked for. */
export interface EngineSearch {
  /** Runner key. */
  readonly key: string
  /** Absolute path or program name from `[runners.<key>]`; undefined = `program` on PATH. */
  readonly binary: string | undefined
  readonly program: string
  /** What to do when it is nowhere, one clause. */
  readonly advice: string
  /** Where PATH is read from, at every lookup. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/** The absolute path of the program, as it lies there now. Errors: `slot.spawn_failed` naming what was looked for, and where. */
export async function findEngine(search: EngineSearch): Promise<string> {
  const wanted = search.binary ?? search.program
  const where = `[runners.${search.key}]`
  const refuse = (problem: string, todo: string): never => {
    throw Hal0Error.of('slot.spawn_failed', `runner "${search.key}" ${problem}`, {
      details: {
        binary: wanted,
        remedy: `${todo}, or choose another runner for the slot; \`hal0 runner list\` shows what was found.`,
      },
    })
  }
  if (wanted.includes('/')) {
    if (await isProgram(wanted)) return wanted
    return refuse(
      `cannot start: ${where} names ${wanted}, which is missing or not an executable file`,
      `Correct ${where} of hal0.toml`,
    )
  }
  const found = await findProgram(wanted, search.env['PATH'])
  // The section need not be there yet.
  const todo = `Install ${wanted}, or say where it is: \`binary\` under ${where} in hal0.toml (\`hal0 config edit hal0\`)`
  return found ?? refuse(`${noProgramText(wanted)}; ${search.advice}`, todo)
}
