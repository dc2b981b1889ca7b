import { UsageError } from '../cli-error.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { keysOf, type LaneKeyOptions, lanePayloadOf } from '../lane-payload.ts'
import { withoutNulls } from '../slot-payload.ts'

/** `hal0 lane create NAME`. JSON: `{name, config}`. */
export async function laneCreate(name: string, options: GlobalOptions & LaneKeyOptions): Promise<void> {
  const output = outputOf(options)
  const payload = { ...withoutNulls(lanePayloadOf(options)), name }
  const answer = await (await connect(options)).lanes.create(payload)
  output.result(
    answer,
    () => `lane ${answer.name} is made; next: hal0 reservation add ${answer.name} --start now --for 1h`,
  )
}

/** `hal0 lane edit NAME`: keys in its file; the rest stays. JSON: `{name, config}`. Errors: UsageError (nothing to change). */
export async function laneEdit(name: string, options: GlobalOptions & LaneKeyOptions): Promise<void> {
  const output = outputOf(options)
  const patch = lanePayloadOf(options)
  const changed = keysOf(patch)
  if (changed.length === 0) {
    throw new UsageError('There is nothing to change.', '`hal0 lane edit --help` shows the options.')
  }
  const { lanes } = await connect(options)
  const answer = await lanes.updateConfig(name, patch)
  output.result(answer, () => `lane ${name}: changed ${changed.join(', ')}`)
}

/** `hal0 lane delete NAME`. JSON: `{name, deleted: true}`. */
export async function laneDelete(name: string, options: GlobalOptions): Promise<void> {
  const output = outputOf(options)
  await (await connect(options)).lanes.remove(name)
  output.result({ name, deleted: true }, () => `lane ${name} is deleted`)
}
