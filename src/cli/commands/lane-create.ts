import type { Hal0Client } from '../../client/client.ts'
import { ClientError } from '../../client/client-errors.ts'
import { missingProgramIn } from '../../contract/missing-program.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { type LaneKeyOptions, lanePayloadOf } from '../lane-payload.ts'
import { tellLaneWarnings } from '../lane-warnings.ts'
import { targetText } from '../lane-words.ts'
import { withoutNulls } from '../slot-payload.ts'
import { type SettledLane, waitForLane } from '../wait-for-lane.ts'

export interface LaneCreateOptions extends GlobalOptions, LaneKeyOptions {
  /** False = its default is left to load by itself. */
  readonly wait: boolean
}

/**
 * `hal0 lane create NAME`. Waits until its default is ready, a minute at most; why it cannot run is a note, and so are warnings. JSON: `{name, config, warnings}`.
 */
export async function laneCreate(name: string, options: LaneCreateOptions): Promise<void> {
  const output = outputOf(options)
  const payload = { ...withoutNulls(lanePayloadOf(options)), name }
  const client = await connect(options)
  const answer = await client.lanes.create(payload)
  const slotProblem = await slotProblemOf(client, name)
  // What cannot start is not waited for.
  const patient = options.wait && slotProblem === undefined
  const settled = await waitForLane(client.lanes, name, output, { patient })
  const { standing } = settled
  const problem = slotProblem ?? (standing.kind === 'failed' ? standing.problem : undefined)
  output.result(answer, () => madeText(name, settled, problem !== undefined))
  // A lane of this name that was deleted may have left bookings; what it would not allow is known once it runs.
  await tellLaneWarnings(output, settled.row?.warnings ?? answer.warnings, options)
  if (problem === undefined) return
  output.note(`lane ${name} cannot load a model like this: ${problem}`)
  output.note(`  ${wayOut(name, problem, settled.row?.gpus.length ?? 0)}`)
}

function madeText(name: string, { row, standing }: SettledLane, hasProblem: boolean): string {
  const made = `lane ${name} is made`
  if (hasProblem) return made
  const wanted = row?.target.kind === 'model' ? targetText(row.target) : undefined
  const book = `hal0 reservation add ${name} --start now --for 1h`
  if (row !== undefined && wanted === undefined) return `${made}; next: ${book} --model ID`
  if (wanted === undefined) return `${made}; next: ${book}`
  return standing.kind === 'ready'
    ? `${made}, and ${wanted} is ready; next: ${book}`
    : `${made}, and ${wanted} is being loaded (hal0 lane show ${name}); next: ${book}`
}

function wayOut(name: string, problem: string, gpus: number): string {
  const again = `\`hal0 lane reload ${name}\` tries at once`
  if (missingProgramIn(problem) === undefined) return `Once that is mended ${again}.`
  const other = problem.includes('"embedded"') ? 'embedded' : 'KEY'
  const where = other === 'embedded' && gpus > 0 ? ' (that one computes on the CPU)' : ''
  return `\`hal0 runner list\` shows what there is; once the program is there ${again}. Another runner${where}: \`hal0 lane edit ${name} --runner ${other}\`.`
}

/** Why an engine of the lane could not start, as the row of its slot says. Undefined = nothing is known to be in the way. */
async function slotProblemOf({ slots }: Pick<Hal0Client, 'slots'>, name: string): Promise<string | undefined> {
  try {
    return (await slots.show(name)).config_problem ?? undefined
  } catch (thrown) {
    if (thrown instanceof ClientError) return undefined
    throw thrown
  }
}
