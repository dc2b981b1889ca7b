import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'

export interface SlotDeleteOptions extends GlobalOptions {
  readonly force?: boolean
  /** Seconds. */
  readonly drain?: number
}

/** `hal0 slot delete NAME`. JSON: `{name, deleted: true}`. */
export async function slotDelete(name: string, options: SlotDeleteOptions): Promise<void> {
  const output = outputOf(options)
  const client = await connect(options)
  await client.slots.remove(name, {
    ...(options.force === undefined ? {} : { force: options.force }),
    ...(options.drain === undefined ? {} : { drainS: options.drain }),
  })
  output.result({ name, deleted: true }, () => `slot ${name} is deleted`)
}

/** `hal0 slot rename NAME NEW`. JSON: the row. */
export async function slotRename(name: string, to: string, options: GlobalOptions): Promise<void> {
  const output = outputOf(options)
  const row = await (await connect(options)).slots.rename(name, to)
  output.result(row, () => `slot ${name} is ${row.name} now`)
}

/** `hal0 slot reseed [NAME…]`. JSON: `{created, kept, skipped}`. */
export async function slotReseed(names: readonly string[], options: GlobalOptions): Promise<void> {
  const output = outputOf(options)
  const result = await (await connect(options)).slots.reseed(names)
  output.result(result, () =>
    output.table(
      ['SLOT', 'RESULT'],
      [
        ...result.created.map((name) => [name, 'made']),
        ...result.kept.map((name) => [name, 'is there']),
        ...result.skipped.map(({ name, reason }) => [name, `left out: ${reason}`]),
      ],
    ),
  )
}
