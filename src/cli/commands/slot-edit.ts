import { UsageError } from '../cli-error.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { type SlotKeyOptions, slotPayloadOf } from '../slot-payload.ts'
import { noteProblem, restartOfSwapText } from '../slot-words.ts'

/** `hal0 slot edit NAME`. What a restart would do, and why a start would fail, are notes. JSON: `{name, config, changed, restart_needed, problem}`. Errors: UsageError (nothing to change). */
export async function slotEdit(name: string, options: GlobalOptions & SlotKeyOptions): Promise<void> {
  const output = outputOf(options)
  const patch = slotPayloadOf(options)
  if (Object.keys(patch).length === 0) {
    throw new UsageError('There is nothing to change.', '`hal0 slot edit --help` shows the options.')
  }
  const client = await connect(options)
  const { changed, ...change } = await client.slots.updateConfig(name, patch)
  output.result({ ...change, changed }, () => {
    if (changed.length === 0) return `slot ${name}: nothing changed`
    const pending = change.restart_needed
    const restart =
      pending.length === 0 ? '' : `\nneeds a restart: ${pending.join(', ')}; next: hal0 slot restart ${name}`
    return `slot ${name}: changed ${changed.join(', ')}${restart}`
  })
  // The change is written: what cannot be told about it is no failure.
  const row = output.json ? undefined : await client.slots.show(name).catch(() => undefined)
  const restarted = row === undefined ? undefined : restartOfSwapText(row)
  if (restarted !== undefined) output.note(`slot ${name}: ${restarted}`)
  noteProblem(output, name, change.problem)
}
