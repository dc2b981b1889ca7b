import type { SlotRow } from '../contract/slot-row.ts'
import { Hal0Error } from '../kernel/errors.ts'

/**
 * A model that runs in a slot whose file binds another one: the registry cannot see that. `boundBy`: slots whose files bind it, to name every
 * user at once. Errors: `model.in_use`.
 */
export function refuseRunningModel(id: string, rows: readonly SlotRow[], boundBy: readonly string[]): void {
  const running = rows.filter((row) => isRunning(row) && row.model_id === id && row.file_model_id !== id)
  if (running.length === 0) return
  const bound = boundBy.filter((slot) => !running.some((row) => row.name === slot))
  const users = [
    ...running.map((row) => `slot ${row.name} (it runs there now)`),
    ...bound.map((slot) => `slot ${slot}`),
  ]
  const commands = [
    // What has no model in its file runs the same one again.
    ...running.map((row) => `hal0 slot ${row.file_model_id === null ? 'unload' : 'restart'} ${row.name}`),
    ...bound.map((slot) => `hal0 slot edit ${slot} --model ID`),
  ]
  throw Hal0Error.of('model.in_use', `model "${id}" is used by ${users.join(', ')}`, {
    details: {
      model: id,
      slots: [...running.map((row) => row.name), ...bound],
      remedy: `Let each run another model first: ${commands.map((line) => `\`${line}\``).join(', ')}.`,
    },
  })
}

/** Has it an engine, or is it about to? */
function isRunning({ state, pid }: SlotRow): boolean {
  return pid !== null || (state !== 'offline' && state !== 'error')
}
