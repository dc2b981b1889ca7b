import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
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

const check = (payload: Record<string, unknown>) => {
  const slot = guardSlotWrite(payload, { file: slotFilePath(home, 'big'), name: 'big', source: 'api' })
  return checkSlotRefs({ home, knownRunners: () => [] }, slot, new Set(Object.keys(payload)))
}

it('speaks of a new slot until its file is there', async () => {
  await expect(check({ name: 'big' })).rejects.toMatchObject({
    code: 'slot.exists',
    message: 'the name "big" belongs to model "big" (models.toml) already: choose another for the new slot "big"',
  })
  await writeFile(slotFilePath(home, 'big'), 'name = "big"\n')
  await expect(check({ name: 'big' })).rejects.toMatchObject({ message: expect.stringContaining('slots/big.toml') })
})
