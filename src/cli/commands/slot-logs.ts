import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'

export interface LogsOptions extends GlobalOptions {
  readonly lines: number
  readonly follow?: boolean
}

/** `hal0 slot logs NAME [-n N] [-f]`. JSON: `{name, lines}`; with -f one `{"line": …}` per line of output. */
export async function slotLogs(name: string, options: LogsOptions): Promise<void> {
  const output = outputOf(options)
  const client = await connect(options)
  if (options.follow !== true) {
    // The API asks for at least one line when it does not follow.
    const lines = options.lines === 0 ? [] : await client.slots.logs(name, { lines: options.lines })
    output.result({ name, lines }, () => lines.join('\n'))
    return
  }
  for await (const line of client.slots.followLogs(name, { lines: options.lines })) {
    output.write(output.json ? `${JSON.stringify({ line })}\n` : `${line}\n`)
  }
}
