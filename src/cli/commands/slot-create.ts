import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { type SlotKeyOptions, slotPayloadOf, withoutNulls } from '../slot-payload.ts'
import { noteProblem } from '../slot-words.ts'

/** `hal0 slot create NAME`. Why it could not start is a note. JSON: the row. */
export async function slotCreate(name: string, options: GlobalOptions & SlotKeyOptions): Promise<void> {
  const output = outputOf(options)
  const payload = { ...withoutNulls(slotPayloadOf(options)), name }
  const row = await (await connect(options)).slots.create(payload)
  output.result(row, () => {
    const model = row.model_id === null ? 'without a model' : `with ${row.model_id}`
    const next = row.model_id === null ? `hal0 slot edit ${name} --model ID` : `hal0 slot load ${name}`
    const made = `slot ${row.name} is made, ${model}${row.profile === null ? '' : ` and profile ${row.profile}`}`
    return row.config_problem === null ? `${made}; next: ${next}` : made
  })
  noteProblem(output, name, row.config_problem)
}
