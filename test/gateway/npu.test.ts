import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'smol-toml'
import { describe, expect, it, onTestFinished } from 'vitest'
import { eventually, makeHome, type TestHome } from '../support/daemon-harness.ts'
import {
  FAKE_FLM,
  type GpuDaemon,
  gpuClient,
  makeGpuHome,
  npuSlot,
  type SlotKeys,
  startGpuDaemon,
} from '../support/gpu-daemon.ts'
import { type CliChild, startCli } from '../support/run-cli.ts'

const TRIO = { asr: true, embed: true }
const shadow = (type: 'transcription' | 'embedding'): SlotKeys => ({ type, device: 'npu', binary: 'flm' })
const SHADOWS = { 'flm-stt': shadow('transcription'), 'flm-embed': shadow('embedding') }

const errorOf = async (response: Response): Promise<Record<string, unknown>> =>
  ((await response.json()) as { error: Record<string, unknown> }).error

const acquire = (hal0: GpuDaemon, slot: string) =>
  hal0.daemon.slots.acquire(slot, { signal: new AbortController().signal, waitMs: 30_000 })

describe('one engine, three slots', () => {
  it('a request for one loads the engine of all; they serve, are shown and stop together', async () => {
    const hal0 = await startGpuDaemon({ flm: npuSlot(TRIO), ...SHADOWS })
    expect((await hal0.row('flm')).state).toBe('offline')
    // As the gateway does.
    const lease = await acquire(hal0, 'flm-embed')
    const { pid, port } = await hal0.row('flm')
    expect(lease.endpoint).toMatchObject({
      origin: `http://127.0.0.1:${port}`,
      alias: 'llama3.2:1b',
      routes: ['/v1/embeddings'],
    })
    expect([(await hal0.row('flm-embed')).in_flight, (await hal0.row('flm')).in_flight]).toEqual([1, 1])
    lease.release()
    expect([(await hal0.row('flm-embed')).in_flight, (await hal0.row('flm')).in_flight]).toEqual([0, 0])
    expect(pid).not.toBeNull()
    for (const slot of ['flm', 'flm-stt', 'flm-embed']) {
      expect(await hal0.row(slot)).toMatchObject({ name: slot, state: 'ready', pid, port, model_id: 'llama3.2:1b' })
    }
    const chat = await hal0.chat('flm')
    expect([chat.status, await chat.json()]).toMatchObject([
      200,
      { model: 'flm', choices: [{ message: { content: 'hello from the NPU' } }] },
    ])
    // What a part does not do is not sent to the engine, which would do it.
    expect(await errorOf(await hal0.chat('flm-embed'))).toMatchObject({ code: 'dispatch.route_unsupported' })

    for (const slot of ['flm-stt', 'flm-embed']) {
      const load = await hal0.call('POST', `/api/slots/${slot}/load`)
      expect([load.status, await load.json()]).toMatchObject([200, { name: slot, state: 'ready', pid }])
      for (const verb of ['unload', 'restart']) {
        const refused = await hal0.call('POST', `/api/slots/${slot}/${verb}`)
        expect(refused.status).toBe(409)
        expect(await errorOf(refused)).toMatchObject({
          code: 'slot.illegal_transition',
          details: { anchor: 'flm', remedy: expect.stringContaining(`hal0 slot ${verb} flm`) },
        })
      }
      const swapped = await hal0.call('POST', `/api/slots/${slot}/swap`, { model_id: 'qwen3:0.6b' })
      expect(await errorOf(swapped)).toMatchObject({ code: 'slot.illegal_transition' })
    }
    expect((await hal0.row('flm')).pid).toBe(pid)
    expect((await hal0.call('POST', '/api/slots/flm/unload?force=true')).status).toBe(200)
    for (const slot of ['flm', 'flm-stt', 'flm-embed']) {
      expect(await hal0.row(slot)).toMatchObject({ state: 'offline', pid: null })
    }
    expect(await hal0.enginePids()).toEqual([])
  })

  it('a part that is not on says how to turn it on, and is not loaded for', async () => {
    const hal0 = await startGpuDaemon({ flm: npuSlot({ asr: true, embed: false }), ...SHADOWS })
    const refused = await hal0.call('POST', '/api/slots/flm-embed/load')
    expect(refused.status).toBe(503)
    expect(await errorOf(refused)).toMatchObject({
      code: 'slot.not_ready',
      details: { remedy: expect.stringContaining('hal0 slot edit flm --set npu.embed=true') },
    })
    expect((await hal0.row('flm')).state).toBe('offline')
    expect((await hal0.row('flm-embed')).config_problem).toContain('[npu] embed')

    expect((await hal0.chat('flm')).status).toBe(200)
    const edit = await hal0.call('PUT', '/api/slots/flm/config', { npu: { asr: true, embed: true } })
    expect([edit.status, await edit.json()]).toMatchObject([200, { restart_needed: ['npu.embed'] }])
    await expect(acquire(hal0, 'flm-embed')).rejects.toMatchObject({
      code: 'slot.not_ready',
      details: { remedy: expect.stringContaining('hal0 slot restart flm') },
    })
    expect((await hal0.call('POST', '/api/slots/flm/restart')).status).toBe(200)
    const lease = await acquire(hal0, 'flm-embed')
    lease.release()
  })

  it('speech and embeddings reach the engine of all three, which is loaded for them', async () => {
    const hal0 = await startGpuDaemon({ flm: npuSlot(TRIO), ...SHADOWS })
    const form = new FormData()
    form.set('model', 'flm-stt')
    form.set('file', new Blob(['RIFF']), 'a.wav')
    const heard = await fetch(`${hal0.url}/v1/audio/transcriptions`, { method: 'POST', body: form })
    expect([heard.status, await heard.json()]).toMatchObject([200, { text: 'hello from the microphone' }])
    const { pid, state } = await hal0.row('flm')
    expect(state).toBe('ready')
    const embedded = await hal0.call('POST', '/v1/embeddings', { model: 'flm-embed', input: ['x', 'y'] })
    expect([embedded.status, await embedded.json()]).toMatchObject([
      200,
      { model: 'flm-embed', data: [{ index: 0 }, { index: 1, embedding: [0.25, 0.5, 0.75] }] },
    ])
    expect((await hal0.row('flm')).pid).toBe(pid)
    // What the engine could do for another part is still not this part's.
    const wrong = await hal0.call('POST', '/v1/embeddings', { model: 'flm-stt', input: 'x' })
    expect([wrong.status, await errorOf(wrong)]).toMatchObject([501, { code: 'dispatch.route_unsupported' }])
  })
})

describe('one language model on the NPU', () => {
  it('a second binding is refused by the write gate, whichever way it comes', async () => {
    const hal0 = await startGpuDaemon({ flm: npuSlot(), other: { ...npuSlot(), model: { default: '' } } })
    const refusals = [
      await hal0.call('POST', '/api/slots', { name: 'third', ...npuSlot({}, 'qwen3:0.6b') }),
      await hal0.call('PUT', '/api/slots/other/config', { model: { default: 'qwen3:0.6b' } }),
    ]
    for (const refused of refusals) {
      expect(refused.status).toBe(409)
      const error = await errorOf(refused)
      expect(error['code']).toBe('slot.npu_exclusivity_violation')
      expect(error['message']).toContain('flm')
    }
    expect((await hal0.row('other')).model_id).toBeNull()
    expect((await hal0.rows()).map(({ name }) => name)).not.toContain('third')
    // Without a model there is nothing to share.
    const free = { name: 'third', ...npuSlot(), model: { default: '' } }
    expect((await hal0.call('POST', '/api/slots', free)).status).toBeLessThan(300)
  })

  it('two in the files: the first one loads, the second is refused at load, names the holder and counts no failure', async () => {
    const hal0 = await startGpuDaemon({ flm: npuSlot(), second: npuSlot({}, 'qwen3:0.6b') })
    const early = await hal0.call('POST', '/api/slots/second/load')
    expect([early.status, await errorOf(early)]).toMatchObject([
      409,
      { code: 'slot.npu_exclusivity_violation', details: { slot: 'second', holder: 'flm' } },
    ])
    expect((await hal0.chat('flm')).status).toBe(200)
    const { pid } = await hal0.row('flm')
    const again = await hal0.call('POST', '/api/slots/second/load')
    expect([again.status, await errorOf(again)]).toMatchObject([409, { details: { holder: 'flm' } }])
    const asked = await hal0.chat('second')
    expect([asked.status, await errorOf(asked)]).toMatchObject([409, { code: 'slot.npu_exclusivity_violation' }])
    expect(await hal0.row('second')).toMatchObject({ state: 'offline', breaker: null, pid: null })
    expect(await hal0.row('flm')).toMatchObject({ state: 'ready', pid })
  })

  it('swapped in beside it: refused while the other is up, and while a file binds another', async () => {
    const hal0 = await startGpuDaemon({ flm: npuSlot(), other: { ...npuSlot(), model: { default: '' } } })
    const swap = () => hal0.call('POST', '/api/slots/other/swap', { model_id: 'qwen3:0.6b' })
    expect((await hal0.chat('flm')).status).toBe(200)
    const refused = await swap()
    expect([refused.status, await errorOf(refused)]).toMatchObject([409, { code: 'slot.npu_exclusivity_violation' }])
    expect((await hal0.chat('flm')).status).toBe(200)
    expect((await hal0.enginePids()).length).toBe(1)
  })
})

/** `hal0 serve` as its own process, with a PATH of the test's own. */
async function serve(at: TestHome, path?: string): Promise<{ readonly child: CliChild; readonly url: string }> {
  const env = path === undefined ? {} : { env: { PATH: path } }
  const child = startCli(['--home', at.folder, 'serve', '--port', '0'], { userFolder: at.folder, ...env })
  onTestFinished(async () => {
    child.process.kill('SIGTERM')
    await child.ended
  })
  const [, url = ''] = await child.until('stdout', /(http:\/\/127\.0\.0\.1:\d+)/)
  return { child, url }
}

describe('seed slots', () => {
  it('are made only where flm is found, and later by name', async () => {
    const at = await makeHome({})
    const bin = join(at.folder, 'bin')
    const path = `${bin}:${process.env['PATH'] ?? ''}`
    const hal0 = gpuClient((await serve(at, path)).url)
    const names = async () => (await hal0.rows()).map(({ name }) => name).filter((name) => name.startsWith('flm'))
    expect(await names()).toEqual([])
    const reseed = () => hal0.call('POST', '/api/slots/reseed', { names: ['flm', 'flm-stt', 'flm-embed'] })
    const missing = await reseed()
    expect(await missing.json()).toMatchObject({ created: [], skipped: [{ name: 'flm' }, {}, {}] })

    await mkdir(bin)
    await writeFile(join(bin, 'flm'), `#!/bin/sh\nexec "${process.execPath}" "${FAKE_FLM}" "$@"\n`)
    await chmod(join(bin, 'flm'), 0o755)
    expect(await (await reseed()).json()).toMatchObject({ created: ['flm', 'flm-stt', 'flm-embed'], skipped: [] })
    expect((await names()).toSorted()).toEqual(['flm', 'flm-embed', 'flm-stt'])
    const bound = await hal0.call('PUT', '/api/slots/flm/config', { model: { default: 'llama3.2:1b' } })
    expect(bound.status).toBe(200)
    expect((await hal0.chat('flm')).status).toBe(200)
  })

  it('a home that is new where flm is on PATH has them from the start', async () => {
    const at = await makeHome({})
    await writeFile(join(at.home.etc, 'hal0.toml'), stringify({ runners: { flm: { binary: FAKE_FLM } } }))
    const hal0 = gpuClient((await serve(at)).url)
    const rows = await hal0.rows()
    const trio = rows.filter(({ name }) => name.startsWith('flm')).map(({ name, type, device }) => [name, type, device])
    expect(trio.toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1))).toEqual([
      ['flm', 'llm', 'npu'],
      ['flm-embed', 'embedding', 'npu'],
      ['flm-stt', 'transcription', 'npu'],
    ])
  })
})

describe('kill -9 of the daemon', () => {
  it('the engine is found again: same pid, all three serve, and the NPU is still one', async () => {
    const at = await makeGpuHome({ flm: npuSlot(TRIO), ...SHADOWS })
    const first = await serve(at)
    expect((await gpuClient(first.url).chat('flm')).status).toBe(200)
    const { pid } = await gpuClient(first.url).row('flm')
    first.child.process.kill('SIGKILL')
    await first.child.ended

    const hal0 = gpuClient((await serve(at)).url)
    await eventually(async () => (await hal0.row('flm')).state === 'ready')
    for (const slot of ['flm', 'flm-stt', 'flm-embed']) {
      expect(await hal0.row(slot)).toMatchObject({ state: 'ready', pid })
    }
    expect((await hal0.chat('flm')).status).toBe(200)
    expect(await at.enginePids()).toEqual([pid])
    const third = await hal0.call('POST', '/api/slots', { name: 'third', ...npuSlot({}, 'qwen3:0.6b') })
    expect(third.status).toBe(409)
  })
})
