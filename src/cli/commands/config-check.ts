import { validateHome } from '../../config/home/validate-home.ts'
import { migrateSlots } from '../../config/slots/migrate-slots.ts'
import type { ConfigMistakeRow } from '../../contract/config-report.ts'
import { chooseHome } from '../choose-home.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'

/** `hal0 config validate`: 1 when there are mistakes. JSON: `{home, files, mistakes, warnings}`. Source: SPEC 2. */
export async function configValidate(globals: GlobalOptions): Promise<ExitCode> {
  const output = outputOf(globals)
  const report = await validateHome(await chooseHome(globals))
  const { home, files, mistakes, warnings } = report
  output.result(report, () =>
    output.table(
      ['', 'FILE', 'KEY', 'WHAT'],
      [...mistakes.map((one) => cells('mistake', one)), ...warnings.map((one) => cells('warning', one))],
    ),
  )
  output.note(`${home}: ${count(files.length, 'file')}, ${count(mistakes.length, 'mistake')}`)
  return mistakes.length === 0 ? EXIT.ok : EXIT.failed
}

/** `hal0 config migrate`: 1 when a file could not be. JSON: `{migrated, failed}`. Source: SPEC 3. */
export async function configMigrate(globals: GlobalOptions): Promise<ExitCode> {
  const output = outputOf(globals)
  const home = await chooseHome(globals)
  const { migrated, failed } = await migrateSlots(home)
  output.result({ migrated, failed }, () =>
    output.table(
      ['', 'FILE', 'KEYS', 'WHAT'],
      [
        ...migrated.map(({ file, moved, profile, backup }) => [
          'moved',
          file,
          moved.join(', '),
          `${profile === null ? 'taken out' : `to profile ${profile}`}; the old file is ${backup}`,
        ]),
        ...failed.map((one) => cells('failed', one)),
      ],
    ),
  )
  if (migrated.length === 0 && failed.length === 0) output.note(`${home.label}: there is nothing to migrate`)
  return failed.length === 0 ? EXIT.ok : EXIT.failed
}

function cells(verdict: string, { file, key, message }: ConfigMistakeRow): string[] {
  return [verdict, file, key, message]
}

function count(number: number, word: string): string {
  return `${number === 0 ? 'no' : number} ${word}${number === 1 ? '' : 's'}`
}
