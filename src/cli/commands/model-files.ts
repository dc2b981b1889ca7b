import { resolve } from 'node:path'
import type { FoundModel } from '../../contract/model.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import { bytesText } from '../size-text.ts'

export interface AddOptions extends GlobalOptions {
  readonly id?: string
  readonly profile?: string
  readonly mmproj?: string
  readonly drafter?: string
  readonly chatTemplate?: string
  readonly mtp?: boolean | null
  readonly tag?: readonly string[]
}

/** `hal0 model add FILE`; paths are relative to where the command was typed. JSON: the row. */
export async function modelAdd(file: string, options: AddOptions): Promise<void> {
  const output = outputOf(options)
  const { id, profile, mmproj, drafter, chatTemplate, mtp, tag } = options
  const row = await (await connect(options)).models.add({
    path: resolve(file),
    ...(id === undefined ? {} : { id }),
    ...(profile === undefined ? {} : { preferred_profile: profile }),
    ...(mmproj === undefined ? {} : { mmproj: resolve(mmproj) }),
    ...(drafter === undefined ? {} : { drafter: resolve(drafter) }),
    ...(chatTemplate === undefined ? {} : { chat_template: resolve(chatTemplate) }),
    ...(mtp === undefined || mtp === null ? {} : { mtp }),
    ...(tag === undefined ? {} : { tags: [...tag] }),
  })
  output.result(row, () => `model ${row.id} is registered; next: hal0 slot create NAME --model ${row.id}`)
}

export interface ScanOptions extends GlobalOptions {
  readonly register?: boolean
}

/** `hal0 model scan [FOLDER]`. JSON: `{found, registered, skipped, files_seen}`. */
export async function modelScan(folder: string | undefined, options: ScanOptions): Promise<void> {
  const output = outputOf(options)
  const client = await connect(options)
  const report = await client.models.scan({
    ...(folder === undefined ? {} : { folder: resolve(folder) }),
    ...(options.register === undefined ? {} : { register: options.register }),
  })
  output.result(report, () =>
    output.table(
      ['MODEL', 'STATUS', 'SIZE', 'FILE'],
      [
        ...report.found.map((found) => [
          found.registered_as ?? found.suggested_id,
          statusOf(found, report.registered),
          bytesText(found.size_bytes),
          found.path,
        ]),
        ...report.skipped.map(({ path, reason }) => ['-', `passed over: ${reason}`, '-', path]),
      ],
    ),
  )
  const news = report.found.filter(
    (found) => found.registered_as === null && !report.registered.includes(found.suggested_id),
  )
  output.note(
    [
      `${report.files_seen} GGUF files, ${report.found.length} models, ${report.registered.length} registered now.`,
      ...(news.length > 0 && options.register !== true ? ['--register takes what is new.'] : []),
    ].join(' '),
  )
}

function statusOf(found: FoundModel, registered: readonly string[]): string {
  if (found.missing.length > 0) return `parts are missing: ${found.missing.join(', ')}`
  if (registered.includes(found.registered_as ?? found.suggested_id)) return 'registered now'
  return found.registered_as === null ? 'new' : 'registered'
}

/** `hal0 model inspect FILE`. JSON: what the file says. */
export async function modelInspect(file: string, globals: GlobalOptions): Promise<void> {
  const output = outputOf(globals)
  const found = await (await connect(globals)).models.inspect(resolve(file))
  output.result(found, () => output.table(['KEY', 'VALUE'], lines(found)))
}

function lines({ facts, ...found }: FoundModel): string[][] {
  const { kv, split, ...said } = facts
  const parts = split === null ? '' : `${found.files.length} of ${split.parts}`
  const all = {
    ...found,
    ...said,
    parts,
    size_bytes: `${found.size_bytes} (${bytesText(found.size_bytes)})`,
    layers: kv.layers,
  }
  return Object.entries(all)
    .map(([key, value]) => [key, value === null ? '' : Array.isArray(value) ? value.join(', ') : String(value)])
    .filter(([, value]) => value !== '')
}

export interface RemoveOptions extends GlobalOptions {
  readonly deleteFiles?: boolean
}

/** `hal0 model rm ID`. JSON: `{id, deleted_files, freed_bytes}`. */
export async function modelRemove(id: string, options: RemoveOptions): Promise<void> {
  const output = outputOf(options)
  const { deleteFiles } = options
  const removed = await (await connect(options)).models.remove(id, deleteFiles === undefined ? {} : { deleteFiles })
  output.result(removed, () => {
    const { deleted_files: files, freed_bytes: freedBytes } = removed
    const freed =
      files.length === 0 ? 'its files stay' : `${files.length} files deleted, ${bytesText(freedBytes)} freed`
    return `model ${removed.id} is forgotten; ${freed}`
  })
}
