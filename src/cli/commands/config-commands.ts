import type { Command } from 'commander'
import { showExamples } from '../command-help.ts'
import type { ExitCode } from '../exit-codes.ts'
import { configMigrate, configValidate } from './config-check.ts'
import { configEdit } from './config-edit.ts'
import { configShow } from './config-show.ts'

/** `hal0 config …`; `end` gets the exit code of a check that found mistakes. */
export function addConfigCommands(program: Command, end: (code: ExitCode) => void): void {
  const config = program.command('config').description('the settings files: show, check, edit')
  showExamples(config, ['hal0 config validate', 'hal0 config edit slot mine'])
  const show = config
    .command('show')
    .description('hal0.toml with its defaults, as it is in effect, and which file that is')
    .action((_options, command: Command) => configShow(command.optsWithGlobals()))
  showExamples(show, ['hal0 config show'])
  const validate = config
    .command('validate')
    .description('every mistake in every settings file; needs no daemon; ends with 1 when there are any')
    .action(async (_options, command: Command) => end(await configValidate(command.optsWithGlobals())))
  showExamples(validate, ['hal0 config validate', 'hal0 config validate --home /srv/hal0 --json'])
  const migrate = config
    .command('migrate')
    .description('move tuning keys of older slot files to profiles; keeps a backup; needs no daemon')
    .action(async (_options, command: Command) => end(await configMigrate(command.optsWithGlobals())))
  showExamples(migrate, ['hal0 config migrate'])
  const edit = config
    .command('edit')
    .description('edit a settings file in $VISUAL or $EDITOR; it is written only when it has no mistakes')
    .argument('<file>', 'hal0, slot, profiles or models')
    .argument('[name]', 'the slot, after `slot`')
    .action((file: string, name: string | undefined, _options, command: Command) =>
      configEdit(file, name, command.optsWithGlobals()),
    )
  showExamples(edit, ['hal0 config edit hal0', 'hal0 config edit slot mine'])
}
