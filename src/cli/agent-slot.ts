import { access } from 'node:fs/promises'
import { basename } from 'node:path'
import { withWriteLock } from '../config/home/write-lock.ts'
import { firstFileOf, moveModel, readModels, writeModelRows } from '../config/models/models-file.ts'
import { chooseModelId, readTakenNames } from '../config/models/taken-names.ts'
import { readSlotFile, slotFilePath } from '../config/slots/slot-file.ts'
import { guardSlotText } from '../config/slots/slot-gate.ts'
import { patchSlotFile, writeSlotFile } from '../config/slots/write-slot.ts'
import { DEFAULT_SLOT } from '../contract/slot-row.ts'
import { BUNDLED_MODEL } from '../files/bundled-model.ts'
import type { Home } from '../files/home.ts'
import { prepareHome } from '../files/prepare-home.ts'
import { requireGgufFile } from './gguf-file.ts'

/**
 * Makes sure that the home has slot `agent` with a model. With `modelFile` (absolute) that file is registered and bound; else the
 * bundled model is, and only when there is no such slot file: a file of the user's is never replaced.
 * Errors: `model_file` (CliError), `config.invalid`, as `guardSlotWrite`.
 */
export async function prepareAgentSlot(home: Home, modelFile: string | undefined): Promise<void> {
  if (modelFile !== undefined) await requireGgufFile(modelFile)
  await prepareHome(home, { writesEtc: true })
  const existing = await readSlotFile(home, DEFAULT_SLOT)
  await followBundledModel(home)
  if (existing !== undefined && modelFile === undefined) return
  const modelId = await registerFile(home, modelFile ?? BUNDLED_MODEL)
  await withWriteLock(home, async () => {
    // A second look: a daemon or another quickstart may have made it meanwhile.
    if ((await readSlotFile(home, DEFAULT_SLOT)) === undefined) return writeNewSlot(home, modelId)
    if (modelFile !== undefined) await patchSlotFile(home, DEFAULT_SLOT, { model: { default: modelId } }, 'cli')
  })
}

/** The bundled model comes with the program: where that was moved or replaced by a package, the row that quickstart wrote follows it. */
async function followBundledModel(home: Home): Promise<void> {
  for (const path of (await readModels(home)).values()) {
    if (path === BUNDLED_MODEL || !path.endsWith('/models/hello.gguf') || (await isReadable(path))) continue
    await moveModel(home, path, BUNDLED_MODEL)
  }
}

function isReadable(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

/** The caller holds the write lock. */
async function writeNewSlot(home: Home, modelId: string): Promise<void> {
  const context = { file: slotFilePath(home, DEFAULT_SLOT), name: DEFAULT_SLOT, source: 'cli' } as const
  await writeSlotFile(home, guardSlotText(newSlotText(modelId), context))
}

/** Registers the file as `hal0 model add` would; finds the row again when it is there. */
async function registerFile(home: Home, path: string): Promise<string> {
  let id = ''
  await writeModelRows(home, async (rows) => {
    const known = [...rows].find(([, row]) => firstFileOf(row) === path)
    id = known?.[0] ?? chooseModelId(basename(path), await readTakenNames(home, rows))
    return known === undefined ? { [id]: { path } } : {}
  })
  return id
}

function newSlotText(modelId: string): string {
  return `# Slot "${DEFAULT_SLOT}": one engine process that serves one model.
# Yours to edit: hal0 does not replace this file. \`hal0 slot restart ${DEFAULT_SLOT}\` applies a change.
name = "${DEFAULT_SLOT}"
type = "llm"
device = "cpu"

# The engine. "embedded" is the llama.cpp that comes with hal0; "cpu" runs a llama-server of your own.
binary = "embedded"

# Load the model when the daemon starts.
autoload = true

[model]
# An id from ../models.toml, which holds the path of the file.
default = ${JSON.stringify(modelId)}
`
}
