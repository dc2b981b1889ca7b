import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { requireGgufFile } from './gguf-file.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-gguf-'))
  await writeFile(join(folder, 'text.gguf'), 'hello')
  await writeFile(join(folder, 'empty.gguf'), '')
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('requireGgufFile', () => {
  it('takes the bundled model', async () => {
    const bundled = fileURLToPath(new URL('../../models/hello.gguf', import.meta.url))
    await expect(requireGgufFile(bundled)).resolves.toBeUndefined()
  })

  it.each([
    { file: 'absent.gguf', text: /^There is no file .*absent\.gguf\.$/ },
    { file: 'text.gguf', text: /text\.gguf is not a GGUF file/ },
    { file: 'empty.gguf', text: /empty\.gguf is not a GGUF file/ },
    { file: '.', text: /is a folder\.$/ },
    { file: 'text.gguf/below', text: /^There is no file/ },
  ])('refuses $file and says why', async ({ file, text }) => {
    await expect(requireGgufFile(join(folder, file))).rejects.toThrow(text)
  })
})
