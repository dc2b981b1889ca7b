import { type ProfileRow, profileCreateSchema, profilePatchSchema } from '../../contract/profile.ts'
import { checked } from '../checked.ts'
import { UsageError } from '../cli-error.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { emptyPayload, type Payload, putAt } from '../keyed-values.ts'
import { withoutNulls } from '../slot-payload.ts'

/** The keys of a profile as typed; "" and null clear a key. */
interface TuneOptions extends GlobalOptions {
  readonly flags?: string
  readonly ctxSize?: number | null
  readonly speculation?: string
  readonly vision?: string
  readonly thinking?: boolean | null
  readonly effort?: string
  readonly budget?: number | null
  readonly runner?: string
  readonly intent?: string
}

export interface ProfileCreateOptions extends TuneOptions {
  readonly from?: string
}

export interface ProfileEditOptions extends TuneOptions {
  readonly unset?: readonly string[]
}

const KEYS: readonly (readonly [keyof TuneOptions, string])[] = [
  ['flags', 'flags'],
  ['ctxSize', 'ctx_size'],
  ['speculation', 'speculation'],
  ['vision', 'vision'],
  ['thinking', 'enable_thinking'],
  ['effort', 'reasoning_effort'],
  ['budget', 'reasoning_budget'],
  ['runner', 'runner'],
  ['intent', 'intent'],
]

/** `hal0 profile create NAME`. JSON: the row. */
export async function profileCreate(name: string, options: ProfileCreateOptions): Promise<void> {
  const output = outputOf(options)
  const from = options.from === undefined ? {} : { from: options.from }
  const input = checked(profileCreateSchema, { ...withoutNulls(keysOf(options)), ...from, name })
  const row = await (await connect(options)).profiles.create(input)
  output.result(row, () => `profile ${row.name} is made; next: hal0 slot edit SLOT --profile ${row.name}`)
}

/** `hal0 profile edit NAME`. JSON: the row. Errors: UsageError (nothing to change). */
export async function profileEdit(name: string, options: ProfileEditOptions): Promise<void> {
  const output = outputOf(options)
  const patch = keysOf(options)
  for (const key of options.unset ?? []) putAt(patch, key, null)
  if (Object.keys(patch).length === 0) {
    throw new UsageError('There is nothing to change.', '`hal0 profile edit --help` shows the options.')
  }
  const row = await (await connect(options)).profiles.update(name, checked(profilePatchSchema, { ...patch }))
  output.result(row, () => `profile ${row.name} is changed${usersText(row)}`)
}

/** `hal0 profile delete NAME`. JSON: `{name, deleted: true}`. */
export async function profileDelete(name: string, options: GlobalOptions): Promise<void> {
  const output = outputOf(options)
  await (await connect(options)).profiles.remove(name)
  output.result({ name, deleted: true }, () => `profile ${name} is deleted`)
}

function keysOf(options: TuneOptions): Payload {
  const payload = emptyPayload()
  for (const [option, key] of KEYS) {
    const value = options[option]
    if (value !== undefined) payload[key] = value === '' ? null : value
  }
  return payload
}

/** An edit stops nothing, so who runs it should know what waits. */
function usersText({ used_by }: ProfileRow): string {
  return used_by.length === 0 ? '' : `; slots that run it take it up at their next start: ${used_by.join(', ')}`
}
