import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createRunnerRegistry } from './build-registry.ts'
import { createLlamaCppRunner } from './llama-cpp.ts'

describe('createRunnerRegistry', () => {
  it('knows the runners by key, embedded first', () => {
    const registry = createRunnerRegistry({})
    expect(registry.all().map((runner) => runner.key)).toEqual(['embedded', 'cpu', 'standard', 'cuda'])
    expect(registry.find('cpu')?.keyEnv).toBe('LLAMA_API_KEY')
    expect(registry.find('embedded')?.keyEnv).toBe('HAL0_EMBEDDED_API_KEY')
    expect(registry.find('vllm')).toBeUndefined()
  })

  it('gives each llama-server what its settings say', () => {
    const registry = createRunnerRegistry({ cuda: { onClientAbort: 'drain' } })
    expect(registry.find('cuda')?.onClientAbort).toBe('drain')
    expect(registry.find('cpu')?.onClientAbort).toBe('abort')
  })
})

describe('where llama-server is found', () => {
  let folder: string
  let program: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hal0-runners-'))
    program = join(folder, 'llama-server')
    await writeFile(program, '#!/bin/sh\n')
    await chmod(program, 0o755)
  })
  afterEach(() => rm(folder, { recursive: true }))
  const find = (options: { binary?: string; PATH?: string }) =>
    createLlamaCppRunner({
      key: 'cpu',
      title: 'llama-server',
      env: { PATH: options.PATH },
      ...(options.binary === undefined ? {} : { binary: options.binary }),
    }).findCommand()

  it('is PATH, where nothing is configured', async () => {
    expect(await find({ PATH: `/nowhere:${folder}` })).toEqual([program])
  })

  it('is the configured file, whatever PATH says', async () => {
    expect(await find({ binary: program, PATH: '/nowhere' })).toEqual([program])
  })

  it('is PATH for a configured name', async () => {
    expect(await find({ binary: 'llama-server', PATH: folder })).toEqual([program])
  })

  it('says what was looked for, where, and how to get it', async () => {
    await expect(find({ PATH: '/nowhere' })).rejects.toMatchObject({
      code: 'slot.spawn_failed',
      message: expect.stringMatching(/"llama-server" on PATH; .*\[runners\.cpu\].*start hal0 again.*"embedded"/),
    })
    await chmod(program, 0o644)
    await expect(find({ binary: program })).rejects.toMatchObject({
      code: 'slot.spawn_failed',
      message: expect.stringContaining(`names ${program}, which is missing or not an executable file`),
    })
  })
})
