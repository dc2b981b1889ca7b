import { type Command, Option } from 'commander'
import { showExamples } from '../command-help.ts'
import { collect, onOff } from '../option-parsers.ts'
import { modelAdd, modelInspect, modelRemove, modelScan } from './model-files.ts'
import { modelPull } from './model-pull.ts'
import { modelList, modelShow } from './model-show.ts'

/** `hal0 model …`. */
export function addModelCommands(program: Command): void {
  const model = program.command('model').description('model files that slots can run: register, download, look at')
  showExamples(
    model,
    ['hal0 model list', 'hal0 model pull org/name-GGUF:Q4_K_M', 'hal0 model add /models/my-model.gguf'],
    'Then: hal0 slot create mine --model ID',
  )
  const list = model
    .command('list')
    .description('all models')
    .action((_options, command: Command) => modelList(command.optsWithGlobals()))
  showExamples(list, ['hal0 model list'])
  const show = model
    .command('show <id>')
    .description('everything about one model')
    .action((id: string, _options, command: Command) => modelShow(id, command.optsWithGlobals()))
  showExamples(show, ['hal0 model show hello'])
  const add = model
    .command('add <file>')
    .description('register a GGUF file that is there; of a split model any part')
    .option('--id <id>', 'how slots name it (default: from the name of the file)')
    .option('--profile <name>', 'the profile it runs best with')
    .option('--mmproj <file>', 'its projector for images (default: found beside it)')
    .option('--drafter <file>', 'a small model that drafts for it')
    .option('--chat-template <file>', 'a template instead of the one in the file')
    .addOption(new Option('--mtp <on|off>', 'whether it predicts several tokens at once').argParser(onOff))
    .option('--tag <tag>', 'a tag; may be given several times', collect)
    .action((file: string, _options, command: Command) => modelAdd(file, command.optsWithGlobals()))
  showExamples(add, ['hal0 model add /models/my-model.gguf', 'hal0 model add my-model.gguf --id mine --profile coding'])
  const scan = model
    .command('scan')
    .description('look for models in a folder')
    .argument('[folder]', 'where (default: the model store, and [models] scan of hal0.toml)')
    .option('--register', 'register what is new (default: only tell)')
    .action((folder: string | undefined, _options, command: Command) => modelScan(folder, command.optsWithGlobals()))
  showExamples(scan, ['hal0 model scan', 'hal0 model scan /models --register'])
  const inspect = model
    .command('inspect <file>')
    .description('what a GGUF file says, without registering it')
    .action((file: string, _options, command: Command) => modelInspect(file, command.optsWithGlobals()))
  showExamples(inspect, ['hal0 model inspect /models/my-model.gguf'])
  const remove = model
    .command('rm <id>')
    .description('forget a model that no slot is bound to')
    .option('--delete-files', 'delete its files too, where they are in the model store')
    .action((id: string, _options, command: Command) => modelRemove(id, command.optsWithGlobals()))
  showExamples(remove, ['hal0 model rm hello'])
  const pull = model
    .command('pull')
    .description('download a model from the hub, or go on with what is there; Ctrl-C only stops watching')
    .argument('[repo]', 'ORG/NAME, with :QUANT to choose a quantisation; or the id of a model that was pulled before')
    .argument('[file]', 'the file in the repository (default: chosen by the quantisation)')
    .option('--id <id>', 'how slots name it (default: from the repository or file)')
    .option('--revision <revision>', 'branch, tag or commit')
    .option('--no-wait', 'begin it and end')
    .option('--cancel <id>', 'stop the download of this model; what is there stays')
    .action((repo: string | undefined, file: string | undefined, _options, command: Command) =>
      modelPull(repo, file, command.optsWithGlobals()),
    )
  showExamples(pull, [
    'hal0 model pull org/name-GGUF:Q4_K_M',
    'hal0 model pull org/name-GGUF name-Q8_0.gguf --id mine',
    'hal0 model pull --cancel mine',
  ])
}
