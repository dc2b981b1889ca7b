import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Home, homeAt } from '../../files/home.ts'
import { checkSlotRefs } from './check-slot-refs.ts'
import { slotFilePath } from './slot-file.ts'
import { guardSlotWrite } from './slot-gate.ts'

let folder: string
let home: Home
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-refs-'))
  home = homeAt(folder)
  await mkdir(join(home.etc, 'slots'), { recursive: true })
  await writeFile(join(home.etc, 'models.toml'), '[models.big]\npath = "/m.gguf"\n')
})
afterEach(() => rm(folder, { recursive: true }))

const check = (payload: Record<string, unknown>, name = 'big', keys = Object.keys(payload)) => {
  const slot = guardSlotWrite(payload, { file: slotFilePath(home, name), name, source: 'api' })
  return checkSlotRefs({ home, knownRunners: () => [] }, slot, new Set(keys))
}

it('speaks of a new slot until its file is there', async () => {
  await expect(check({ name: 'big' })).rejects.toMatchObject({
    code: 'slot.exists',
    message: 'the name "big" belongs to model "big" (models.toml) already: choose another for the new slot "big"',
  })
  await writeFile(slotFilePath(home, 'big'), 'name = "big"\n')
  await expect(check({ name: 'big' })).rejects.toMatchObject({ message: expect.stringContaining('slots/big.toml') })
})

describe('slots on the NPU', () => {
  const NPU = { device: 'npu', model: { default: 'llama3.2:1b' } }

  it('name models by tags of FastFlowLM, which are no rows of models.toml', async () => {
    await expect(check({ ...NPU, name: 'big-npu' }, 'big-npu')).resolves.toBeUndefined()
    await expect(check({ ...NPU, device: 'cpu', name: 'big-npu' }, 'big-npu')).rejects.toMatchObject({
      code: 'model.not_found',
    })
    // The profile decides the runner too.
    const byProfile = { name: 'paint', type: 'image', profile: 'comfyui', model: { default: 'sdxl.safetensors' } }
    await expect(check(byProfile, 'paint')).resolves.toBeUndefined()
    await expect(check({ ...byProfile, binary: 'vllm' }, 'paint')).rejects.toMatchObject({ code: 'model.not_found' })
  })

  it('are one, where they are LLMs with a model: the second is refused, naming both', async () => {
    await writeFile(slotFilePath(home, 'flm'), 'name = "flm"\ndevice = "npu"\n')
    await expect(check({ ...NPU, name: 'other' }, 'other')).resolves.toBeUndefined()
    await writeFile(slotFilePath(home, 'flm'), 'name = "flm"\ndevice = "npu"\n[model]\ndefault = "qwen3:0.6b"\n')
    await expect(check({ ...NPU, name: 'other' }, 'other')).rejects.toMatchObject({
      code: 'slot.npu_exclusivity_violation',
      message: expect.stringMatching(/slot "flm".*slot "other"/),
    })
    await expect(check({ ...NPU, name: 'other', model: { default: '' } }, 'other')).resolves.toBeUndefined()
    const shadow = { name: 'stt', device: 'npu', type: 'transcription' }
    await expect(check(shadow, 'stt')).resolves.toBeUndefined()
    await expect(check({ ...NPU, name: 'flm' }, 'flm')).resolves.toBeUndefined()
  })

  it('are looked at when a change makes a second one, by whatever key', async () => {
    await writeFile(slotFilePath(home, 'flm'), 'name = "flm"\ndevice = "npu"\n[model]\ndefault = "qwen3:0.6b"\n')
    const second = { ...NPU, name: 'other' }
    for (const key of ['device', 'type', 'model']) {
      await expect(check(second, 'other', [key])).rejects.toMatchObject({ code: 'slot.npu_exclusivity_violation' })
    }
    await expect(check(second, 'other', ['priority'])).resolves.toBeUndefined()
  })
})
