import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { launchRequest } from '../../test/support/launch-request.ts'
import { argvOf } from '../contract/launch-plan.ts'
import type { Device } from '../contract/slot-row.ts'
import { createEngineReader } from '../runners/describe-engine.ts'
import { createFlmRunner } from '../runners/flm.ts'
import { SERVICE_RUNNERS, type ServiceRunnerKey } from '../runners/rules/service-keys.ts'
import type { RunnerSettings } from '../runners/runner-settings.ts'
import { createServiceRunner } from '../runners/service-runners.ts'
import { assembleLaunch } from './rules/assemble-launch.ts'

const reader = createEngineReader({})
const make = (key: ServiceRunnerKey, settings: RunnerSettings = {}, PATH = '/nowhere') => {
  const options = { settings, env: { PATH }, reader }
  return key === 'flm' ? createFlmRunner(options) : createServiceRunner(key, options)
}

/** The command that a launch would have. */
async function argv(
  key: ServiceRunnerKey,
  settings: RunnerSettings,
  flags: readonly string[] = [],
  device: Device = 'cpu',
) {
  const runner = make(key, settings)
  const launch = assembleLaunch(
    launchRequest({
      slot: 'tts',
      type: 'tts',
      device,
      gpus: [1],
      model: 'none',
      engine: {
        key,
        dialect: runner.dialect,
        command: await runner.findCommand(),
        keyEnv: runner.keyEnv,
        ...(runner.template === undefined ? {} : { template: runner.template }),
      },
      profile: { flags },
    }),
  )
  if (!launch.ok) throw launch.error
  return { words: argvOf(launch.value.plan), env: launch.value.plan.env, removed: launch.value.removed }
}

describe('how each is started', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hal0-services-'))
  })
  afterEach(() => rm(folder, { recursive: true }))
  async function program(name: string): Promise<string> {
    const path = join(folder, name)
    await writeFile(path, '#!/bin/sh\n')
    await chmod(path, 0o755)
    return path
  }

  it.each<[ServiceRunnerKey, string, string]>([
    ['kokoro', 'kokoro-server', '--host 127.0.0.1 --port 8081'],
    ['qwen3tts', 'qwen3-tts-server', '--host 127.0.0.1 --port 8081'],
    ['vibevoice', 'vibevoice-server', '--host 127.0.0.1 --port 8081'],
    ['moonshine', 'moonshine-server', '--host 127.0.0.1 --port 8081'],
    ['comfyui', 'comfyui', '--listen 127.0.0.1 --port 8081 --disable-auto-launch'],
    ['flm', 'flm', 'serve --host 127.0.0.1 --port 8081 --ctx-len 8192'],
  ])('%s: its program on PATH, with its words', async (key, name, words) => {
    const path = await program(name)
    expect((await make(key, {}, folder).findCommand())[0]).toBe(path)
    const binary = await program('mine')
    expect((await argv(key, { binary })).words).toEqual([binary, ...words.split(' ')])
  })

  it('as a template says, whose types and routes stay hal0’s', async () => {
    const python = await program('python')
    const template = [python, '/opt/ComfyUI/main.py', '--listen', '${HOST}', '--port', '${PORT}']
    const { words } = await argv('comfyui', { template }, ['--lowvram'])
    expect(words).toEqual([python, ...'/opt/ComfyUI/main.py --listen 127.0.0.1 --port 8081 --lowvram'.split(' ')])
    expect(make('comfyui', { template })).toMatchObject({ types: ['image'], routes: ['/v1/images/generations'] })
    // With a program of its own the template is all that follows it.
    expect((await argv('kokoro', { binary: python, template: ['-m', 'k', '${PORT}'] })).words).toEqual([
      python,
      '-m',
      'k',
      '8081',
    ])
    expect(await make('flm', { template: [python, '${PORT}'] }).findCommand()).toEqual([python])
  })

  it('with the flags of the profile, but not where it listens', async () => {
    const binary = await program('mine')
    const { words, removed } = await argv('kokoro', { binary }, ['--workers', '1', '--port', '1', '--uds', '/s'])
    expect(words.slice(1).join(' ')).toBe('--host 127.0.0.1 --port 8081 --workers 1')
    expect(removed.map(({ flag }) => flag)).toEqual(['--port', '--uds'])
  })

  it('on the GPU of its slot', async () => {
    const binary = await program('mine')
    expect((await argv('qwen3tts', { binary }, [], 'gpu-cuda')).env).toMatchObject({ CUDA_VISIBLE_DEVICES: '1' })
  })

  it.each(SERVICE_RUNNERS)('%s: says what was looked for, and where to say it', async (key) => {
    await expect(make(key).findCommand()).rejects.toMatchObject({
      code: 'slot.spawn_failed',
      message: expect.stringMatching(new RegExp(`on PATH; .*binary or template in \\[runners\\.${key}\\]`)),
    })
  })

  it('looked at where the settings say', () => {
    expect(make('vibevoice', { health_path: '/healthz', models_path: '' }).probe).toEqual({
      healthPath: '/healthz',
      modelsPath: undefined,
      identityPath: undefined,
    })
    expect(make('flm', { stop_signal: 'SIGINT', on_client_abort: 'drain' })).toMatchObject({
      stopSignal: 'SIGINT',
      onClientAbort: 'drain',
    })
  })
})
