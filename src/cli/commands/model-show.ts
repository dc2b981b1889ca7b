import type { ModelRow } from '../../contract/model.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import type { Output } from '../output.ts'
import { bytesText } from '../size-text.ts'

/** `hal0 model list`. JSON: `{models: [row, …]}`. */
export async function modelList(globals: GlobalOptions): Promise<void> {
  const output = outputOf(globals)
  const models = await (await connect(globals)).models.list()
  output.result({ models }, () =>
    models.length === 0 && process.stdout.isTTY
      ? 'no models; `hal0 model add FILE` or `hal0 model pull ORG/NAME` brings one'
      : output.table(['ID', 'SIZE', 'QUANT', 'ARCH', 'CONTEXT', 'SLOTS', 'PROBLEM'], models.map(cells)),
  )
}

/** `hal0 model show ID`. JSON: the row. */
export async function modelShow(id: string, globals: GlobalOptions): Promise<void> {
  const output = outputOf(globals)
  const row = await (await connect(globals)).models.show(id)
  output.result(row, () => modelText(row, output))
}

function modelText({ size_bytes, path, ...row }: ModelRow, output: Output): string {
  const facts = Object.entries({ ...row, files: row.files.length > 1 ? row.files : [path] })
  const lines = facts.map(([key, value]) => [
    key,
    value === null ? '' : Array.isArray(value) ? value.join(', ') : String(value),
  ])
  lines.push(['size', size_bytes === null ? '' : bytesText(size_bytes)])
  return output.table(
    ['KEY', 'VALUE'],
    lines.filter(([, value]) => value !== ''),
  )
}

function cells(row: ModelRow): string[] {
  const missing = row.missing.length === 0 ? '' : `missing: ${row.missing.join(', ')}`
  return [
    row.id,
    row.size_bytes === null ? '-' : bytesText(row.size_bytes),
    row.quant ?? '-',
    row.architecture ?? '-',
    String(row.native_ctx ?? '-'),
    row.bound_by.join(', ') || '-',
    row.problem ?? missing,
  ]
}
