import { isDeepStrictEqual } from 'node:util'
import { ClientError } from '../../client/client-errors.ts'
import type { LanesClient } from '../../client/lanes.ts'
import { UsageError } from '../cli-error.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import type { Payload } from '../keyed-values.ts'
import { isTable, keysOf, type LaneKeyOptions, lanePayloadOf } from '../lane-payload.ts'
import { tellLaneWarnings } from '../lane-warnings.ts'

/** `hal0 lane edit NAME`: keys in its file; the rest stays. Warnings go to stderr. JSON: `{name, config, warnings}`. Errors: UsageError (nothing to change). */
export async function laneEdit(name: string, options: GlobalOptions & LaneKeyOptions): Promise<void> {
  const output = outputOf(options)
  const patch = lanePayloadOf(options)
  const named = keysOf(patch)
  if (named.length === 0) {
    throw new UsageError('There is nothing to change.', '`hal0 lane edit --help` shows the options.')
  }
  const { lanes } = await connect(options)
  const before = await configBefore(lanes, name)
  const answer = await lanes.updateConfig(name, patch)
  const changed = before === undefined ? named : named.filter((key) => !isSame(key, before, answer.config))
  output.result(answer, () =>
    changed.length === 0
      ? `lane ${name}: nothing has changed; its file said so already`
      : `lane ${name}: changed ${changed.join(', ')}`,
  )
  await tellLaneWarnings(output, answer.warnings, options)
}

/** Undefined = its file cannot be read: then the change may be what mends it. */
async function configBefore(lanes: LanesClient, name: string): Promise<Payload | undefined> {
  try {
    return (await lanes.config(name)).config
  } catch (thrown) {
    if (thrown instanceof ClientError) return undefined
    throw thrown
  }
}

/** `key`: dotted. */
function isSame(key: string, before: Payload, after: Payload): boolean {
  const valueOf = (payload: Payload) =>
    key.split('.').reduce<unknown>((table, part) => (isTable(table) ? table[part] : undefined), payload)
  return isDeepStrictEqual(valueOf(before), valueOf(after))
}

/** `hal0 lane delete NAME`. JSON: `{name, deleted: true}`. */
export async function laneDelete(name: string, options: GlobalOptions): Promise<void> {
  const output = outputOf(options)
  await (await connect(options)).lanes.remove(name)
  output.result({ name, deleted: true }, () => `lane ${name} is deleted`)
}
