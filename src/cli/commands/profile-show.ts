import type { ProfileRow } from '../../contract/profile.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { shellLine } from '../shell-line.ts'

/** `hal0 profile list`. JSON: `{profiles: [row, …]}`. */
export async function profileList(globals: GlobalOptions): Promise<void> {
  const output = outputOf(globals)
  const profiles = await (await connect(globals)).profiles.list()
  output.result({ profiles }, () =>
    output.table(
      ['NAME', 'KIND', 'CONTEXT', 'USED BY', 'FLAGS', 'FOR'],
      profiles.map((row) => [
        row.name,
        row.seed ? 'built in' : 'own',
        String(row.ctx_size ?? '-'),
        row.used_by.join(', ') || '-',
        shellLine(row.flags) || '-',
        row.intent ?? '',
      ]),
    ),
  )
}

/** `hal0 profile show NAME`. JSON: the row. */
export async function profileShow(name: string, globals: GlobalOptions): Promise<void> {
  const output = outputOf(globals)
  const row = await (await connect(globals)).profiles.show(name)
  output.result(row, () => output.table(['KEY', 'VALUE'], lines(row)))
}

/** What the profile does not say is left out. */
function lines({ seed, flags, ...row }: ProfileRow): string[][] {
  const facts = Object.entries(row).map(([key, value]) => [
    key,
    value === null ? '' : Array.isArray(value) ? value.join(', ') : String(value),
  ])
  return [...facts, ['flags', shellLine(flags)], ['kind', seed ? 'built in, cannot be changed' : 'your own']].filter(
    ([, value]) => value !== '',
  )
}
