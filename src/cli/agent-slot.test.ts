import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type * as ModelsFile from '../config/models/models-file.ts'
import { readModels } from '../config/models/models-file.ts'
import { slotFilePath } from '../config/slots/slot-file.ts'
import { BUNDLED_MODEL } from '../files/bundled-model.ts'
import { type Home, homeAt } from '../files/home.ts'
import { prepareAgentSlot } from './agent-slot.ts'

/** What happens once the model is registered and before the slot file is looked at again. */
let meanwhile: () => Promise<void> = async () => {}
vi.mock('../config/models/models-file.ts', async (original) => {
  const real = await original<typeof ModelsFile>()
  const writeModelRows: typeof real.writeModelRows = async (...args) => {
    await real.writeModelRows(...args)
    await meanwhile()
  }
  return { ...real, writeModelRows }
})

let folder = ''
let home: Home
let slotFile = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-agent-slot-'))
  home = homeAt(join(folder, 'home'))
  slotFile = slotFilePath(home, 'agent')
  meanwhile = async () => {}
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const OTHERS = '# of another program\nname = "agent"\npriority = 7\n'
const writeMeanwhile = () => {
  meanwhile = async () => {
    await mkdir(dirname(slotFile), { recursive: true })
    await writeFile(slotFile, OTHERS)
  }
}

it('a slot file that was made meanwhile is kept', async () => {
  writeMeanwhile()
  await prepareAgentSlot(home, undefined)
  expect(await readFile(slotFile, 'utf8')).toBe(OTHERS)
})

it('a slot file that was made meanwhile is bound to the model that is asked for, and keeps the rest', async () => {
  const model = join(folder, 'My Model.gguf')
  await copyFile(BUNDLED_MODEL, model)
  writeMeanwhile()
  await prepareAgentSlot(home, model)
  const text = await readFile(slotFile, 'utf8')
  expect(text).toContain(OTHERS)
  expect(text).toContain('default = "my-model"')
})

it.each([
  ['Qwen3-8B-Q4_K_M.gguf', 'qwen3-8b-q4_k_m'],
  // The name of a slot, and of one that hal0 brings later.
  ['agent.gguf', 'agent-2'],
  ['coder.gguf', 'coder-2'],
])('%s is registered as `hal0 model add` would: %s', async (name, id) => {
  const model = join(folder, name)
  await copyFile(BUNDLED_MODEL, model)
  await prepareAgentSlot(home, model)
  await prepareAgentSlot(home, model)
  expect([...(await readModels(home))]).toEqual([[id, model]])
  expect(await readFile(slotFile, 'utf8')).toContain(`default = "${id}"`)
})
