import { UsageError } from '../cli-error.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { type SlotKeyOptions, slotPayloadOf } from '../slot-payload.ts'

/** `hal0 slot edit NAME`. JSON: `{name, config, changed, restart_needed}`. Errors: UsageError (nothing to change). */
export async function slotEdit(name: string, options: GlobalOptions & SlotKeyOptions): Promise<void> {
  const output = outputOf(options)
  const patch = slotPayloadOf(options)
  if (Object.keys(patch).length === 0) {
    throw new UsageError('There is nothing to change.', '`hal0 slot edit --help` shows the options.')
  }
  const { changed, ...change } = await (await connect(options)).slots.updateConfig(name, patch)
  output.result({ ...change, changed }, () => {
    if (changed.length === 0) return `slot ${name}: nothing changed`
    const pending = change.restart_needed
    const restart =
      pending.length === 0 ? '' : `\nneeds a restart: ${pending.join(', ')}; next: hal0 slot restart ${name}`
    return `slot ${name}: changed ${changed.join(', ')}${restart}`
  })
}
