import { readFile, writeFile } from 'node:fs/promises'
import { text as readStream } from 'node:stream/consumers'
import { type ProfileEnvelope, profileEnvelopeSchema } from '../../contract/profile.ts'
import { messageOf } from '../../kernel/errors.ts'
import { CliError } from '../cli-error.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'

export interface ExportOptions extends GlobalOptions {
  readonly output?: string
}

export interface ImportOptions extends GlobalOptions {
  readonly overwrite?: boolean
}

/** `hal0 profile export [NAME…]`: the document on stdout, with or without --json; with -o `{file, profiles: [name, …]}`. */
export async function profileExport(names: readonly string[], options: ExportOptions): Promise<void> {
  const output = outputOf(options)
  const envelope = await (await connect(options)).profiles.exportEnvelope(names)
  const document = `${JSON.stringify(envelope, null, 2)}\n`
  if (options.output === undefined) return output.write(document)
  const file = options.output
  await writeFile(file, document)
  const profiles = Object.keys(envelope.profiles)
  output.result({ file, profiles }, () => `${file} holds ${profiles.join(', ') || 'no profile'}`)
}

/** `hal0 profile import FILE`. JSON: `{created, overwritten, skipped}`. Errors: `profile_file` (CliError). */
export async function profileImport(file: string, options: ImportOptions): Promise<void> {
  const output = outputOf(options)
  const envelope = await readEnvelope(file)
  const { overwrite } = options
  const client = await connect(options)
  const result = await client.profiles.importEnvelope({ envelope, ...(overwrite === undefined ? {} : { overwrite }) })
  output.result(result, () =>
    output.table(
      ['PROFILE', 'RESULT'],
      [
        ...result.created.map((name) => [name, 'made']),
        ...result.overwritten.map((name) => [name, 'replaced']),
        ...result.skipped.map(({ name, reason }) => [name, `left as it is: ${reason}`]),
      ],
    ),
  )
}

async function readEnvelope(file: string): Promise<ProfileEnvelope> {
  const text = file === '-' ? await readStream(process.stdin) : await readFile(file, 'utf8')
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch (cause) {
    throw notAnExport(file, messageOf(cause))
  }
  const parsed = profileEnvelopeSchema.safeParse(document)
  if (parsed.success) return parsed.data
  const mistakes = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'the document'}: ${message}`)
  throw notAnExport(file, mistakes.join('; '))
}

function notAnExport(file: string, why: string): CliError {
  const place = file === '-' ? 'What is piped in' : file
  return new CliError(
    'profile_file',
    `${place} is no export of profiles: ${why}.`,
    'Give a file that `hal0 profile export` wrote.',
  )
}
