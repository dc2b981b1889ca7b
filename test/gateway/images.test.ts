import OpenAI from 'openai'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ImageDefaults } from '../../src/gateway/routes/paint.ts'
import { Hal0Error } from '../../src/kernel/errors.ts'
import type { EngineEndpoint } from '../../src/slots/slots.ts'
import { type RawRequest, send, start } from '../support/raw-http.ts'
import { type FakeComfy, startFakeComfy } from '../support/start-fake-comfy.ts'
import { startGateway, type TestGateway } from '../support/start-gateway.ts'
import { createStubSlots, type StubSlots } from '../support/stub-slots.ts'

let comfy: FakeComfy
let slots: StubSlots
let gateway: TestGateway
let defaults: ImageDefaults
/** What the arbiter heard, in order. */
let arbiterLog: string[]
/** Set = `enter` rejects with it. */
let refusal: Hal0Error | undefined
/** Set = `enter` waits for it. */
let gate: Promise<void> | undefined

const endpoint = (more: Partial<EngineEndpoint> = {}): EngineEndpoint => ({
  origin: comfy.origin,
  engineKey: undefined,
  alias: 'img',
  onClientAbort: 'drain',
  routes: ['/v1/images/generations'],
  protocol: 'comfyui',
  enableThinking: undefined,
  ...more,
})

const arbiter = {
  enterNow: () => undefined,
  async enter(slot: string, { signal }: { signal: AbortSignal }) {
    arbiterLog.push(`enter ${slot}`)
    if (gate !== undefined) {
      const left = new Promise<never>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
      })
      await Promise.race([gate, left])
    }
    if (refusal !== undefined) throw refusal
    return { leave: () => void arbiterLog.push(`leave ${slot} after ${slots.log.at(-1)}`) }
  },
}

beforeEach(async () => {
  comfy = await startFakeComfy()
  arbiterLog = []
  refusal = undefined
  gate = undefined
  defaults = {}
  const row = { type: 'image', runner: 'comfyui', model_id: null } as const
  slots = createStubSlots({
    agent: { endpoint: endpoint({ alias: 'agent', routes: ['/v1/chat/completions'] }) },
    img: { endpoint: endpoint(), row },
  })
  gateway = await startGateway(slots, { jsonLimitBytes: 1_000_000 }, undefined, {
    arbiter,
    imageDefaults: () => defaults,
  })
})

afterEach(async () => {
  await gateway.stop()
  await comfy.stop()
})

const images = (body: object = {}): RawRequest => ({
  path: '/v1/images/generations',
  body: { prompt: 'a fox', size: '64x64', ...body },
})
const client = () => new OpenAI({ baseURL: `${gateway.origin}/v1`, apiKey: 'client-secret', maxRetries: 0 })
/** Inputs of the node of this class in the n-th graph that ComfyUI took. */
const inputsOf = async (type: string, n = 0) =>
  Object.values((await comfy.state()).graphs[n] ?? {}).find((node) => node.class_type === type)?.inputs
const sizeOf = (base64: string | undefined) => {
  const png = Buffer.from(base64 ?? '', 'base64')
  return `${png.readUInt32BE(16)}x${png.readUInt32BE(20)}`
}

describe('the official openai client', () => {
  it('paints', async () => {
    const answer = await client().images.generate({
      model: 'img',
      prompt: 'a fox',
      n: 2,
      size: '256x256',
      quality: 'hd',
    })
    expect(answer.created).toBeGreaterThan(1_700_000_000)
    expect(answer.data?.map(({ b64_json }) => sizeOf(b64_json))).toEqual(['256x256', '256x256'])
    expect(answer).toMatchObject({ output_format: 'png', size: '256x256' })
  })

  it('hears why a request is wrong', async () => {
    const error = await client()
      .images.generate({ model: 'img', prompt: 'a fox', response_format: 'url' })
      .catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(OpenAI.BadRequestError)
    expect(error).toMatchObject({ status: 400, code: 'request.invalid', param: 'response_format' })
  })
})

describe('what is painted', () => {
  it('defaults of hal0, with a seed of its own each time', async () => {
    await send(gateway.origin, images({ size: undefined }))
    await send(gateway.origin, images())
    expect(await inputsOf('CheckpointLoaderSimple')).toEqual({ ckpt_name: 'fake-xl.safetensors' })
    expect(await inputsOf('EmptyLatentImage')).toEqual({ width: 1024, height: 1024, batch_size: 1 })
    const [one, two] = [await inputsOf('KSampler', 0), await inputsOf('KSampler', 1)]
    expect(one).toMatchObject({ steps: 20, cfg: 8, sampler_name: 'euler' })
    expect(one?.['seed']).not.toBe(two?.['seed'])
  })

  it('defaults of the slot', async () => {
    defaults = { size: '512x256', steps: 6, checkpoint: 'fake-15.safetensors' }
    await send(gateway.origin, images({ size: 'auto' }))
    expect(await inputsOf('CheckpointLoaderSimple')).toEqual({ ckpt_name: 'old/fake-15.safetensors' })
    expect(await inputsOf('EmptyLatentImage')).toMatchObject({ width: 512, height: 256 })
    expect(await inputsOf('KSampler')).toMatchObject({ steps: 6 })
  })

  it('what the request says wins', async () => {
    defaults = { size: '512x256', steps: 6 }
    await send(gateway.origin, images({ steps: 9, seed: 7, negative_prompt: 'text', n: 2 }))
    expect(await inputsOf('EmptyLatentImage')).toEqual({ width: 64, height: 64, batch_size: 2 })
    expect(await inputsOf('KSampler')).toMatchObject({ steps: 9, seed: 7 })
    const texts = Object.values((await comfy.state()).graphs[0] ?? {}).flatMap(({ inputs }) => inputs['text'] ?? [])
    expect(texts).toEqual(['a fox', 'text'])
  })
})

describe('who paints', () => {
  it.each([
    ['no name', undefined, undefined],
    ['the slot', 'img', undefined],
    ['a name of another service', 'dall-e-3', 'fallback'],
  ])('%s', async (_name, model, route) => {
    const answer = await send(gateway.origin, images({ model }))
    expect(answer.status).toBe(200)
    expect(answer.headers['x-hal0-route']).toBe(route)
    expect(slots.log).toEqual(['wait img', 'lease img', 'release img'])
  })

  it('a slot that chats is not loaded to hear that it cannot paint', async () => {
    const answer = await send(gateway.origin, images({ model: 'agent' }))
    expect(answer.status).toBe(501)
    expect(answer.json()).toMatchObject({ error: { code: 'dispatch.route_unsupported', param: 'model' } })
    expect(slots.log).toEqual([])
  })

  it.each([
    ['a slot that chats', { type: 'llm', runner: 'standard' }, 'runner standard) does not have /v1/images/generations'],
    ['an image slot', { type: 'image', runner: 'standard' }, 'does not have /v1/images/generations'],
  ] as const)(
    '%s whose runner does not paint: 501 names those that do, before anything is loaded',
    async (_name, row, says) => {
      const lone = createStubSlots({ art: { endpoint: endpoint({ routes: ['/v1/chat/completions'] }), row } })
      const knowing = await startGateway(lone, {}, undefined, { runnersFor: () => ['comfyui', 'sd'] })
      const answer = await send(knowing.origin, images({ model: 'art' }))
      expect(answer.status).toBe(501)
      expect(answer.json()).toMatchObject({
        error: { param: 'model', details: { slot: 'art', runners: ['comfyui', 'sd'] } },
      })
      expect(answer.text).toContain(says)
      expect(lone.log).toEqual([])
      await knowing.stop()
    },
  )

  it('no image slot', async () => {
    const bare = await startGateway(createStubSlots({ agent: { endpoint: endpoint() } }))
    const answer = await send(bare.origin, images())
    expect(answer.status).toBe(404)
    expect(answer.json()).toMatchObject({ error: { code: 'gpu.img_slot_missing' } })
    await bare.stop()
  })

  it('an engine that has the route itself gets the request as it came', async () => {
    const { protocol: _translated, ...plain } = endpoint()
    const native = createStubSlots({ art: { endpoint: plain, row: { type: 'image', runner: 'sd' } } })
    const other = await startGateway(native)
    // It is a ComfyUI after all, so it does not know the path; what matters is who answers.
    const answer = await send(other.origin, images({ response_format: 'url' }))
    expect(answer.status).toBe(404)
    expect(answer.json()).toMatchObject({ error: { details: { slot: 'art', status: 404 } } })
    expect((await comfy.state()).counters).toMatchObject({ requests: 1, prompts: 0 })
    await other.stop()
  })
})

describe('bad requests', () => {
  it.each([
    ['prompt', { prompt: '' }],
    ['n', { n: 11 }],
    ['size', { size: '100x100' }],
    ['stream', { stream: true }],
    ['model', { model: 7 }],
  ])('400 for %s in %j, and nothing is woken', async (param, body) => {
    const answer = await send(gateway.origin, images(body))
    expect([answer.status, answer.json()]).toMatchObject([400, { error: { code: 'request.invalid', param } }])
    expect([slots.log, arbiterLog]).toEqual([[], []])
  })

  it('no JSON, too large, a wrong method', async () => {
    const { path } = images()
    expect((await send(gateway.origin, { path, body: '{"prompt":' })).status).toBe(400)
    expect((await send(gateway.origin, { path, body: { prompt: 'x'.repeat(1_000_001) } })).status).toBe(413)
    const answer = await send(gateway.origin, { path })
    expect([answer.status, answer.headers['allow']]).toEqual([405, 'POST, OPTIONS'])
  })
})

describe('the arbiter', () => {
  it('is asked before the slot, and told when the render is over', async () => {
    await send(gateway.origin, images())
    await gateway.requestLine(1)
    expect(arbiterLog).toEqual(['enter img', 'leave img after release img'])
  })

  it('refuses: the client hears when to come again, and the slot is left alone', async () => {
    refusal = Hal0Error.of('gpu.inference_mode', 'The GPU serves language models', { retryAfterS: 9 })
    const answer = await send(gateway.origin, images())
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '9'])
    expect(answer.json()).toMatchObject({ error: { code: 'gpu.inference_mode' } })
    expect(slots.log).toEqual([])
  })

  it('has the pass back when the slot cannot be had', async () => {
    slots.failWith(Hal0Error.of('slot.loading', 'Slot "img" is loading', { retryAfterS: 3 }))
    expect((await send(gateway.origin, images())).status).toBe(503)
    expect(arbiterLog).toEqual(['enter img', 'leave img after undefined'])
  })

  it('is asked for chats too', async () => {
    refusal = Hal0Error.of('gpu.image_mode', 'The GPU renders images', { retryAfterS: 9 })
    const chat = { path: '/v1/chat/completions', body: { model: 'agent', messages: [] } }
    expect((await send(gateway.origin, chat)).json()).toMatchObject({ error: { code: 'gpu.image_mode' } })
    expect(arbiterLog).toEqual(['enter agent'])
  })

  it('a client that leaves while it waits leaves nothing behind', async () => {
    gate = new Promise(() => {})
    const req = start(gateway.origin, images())
    await expect.poll(() => arbiterLog.length).toBe(1)
    req.destroy()
    expect(await gateway.requestLine(1)).toMatchObject({ status: 499, failure: 'client_gone' })
    await expect.poll(() => gateway.gateway.inFlight()).toBe(0)
    expect([slots.log, arbiterLog]).toEqual([[], ['enter img']])
  })
})

describe('what goes wrong at ComfyUI', () => {
  it.each([
    ['no memory', { fail_node: '5' }, 'in node 5 (KSampler): torch.OutOfMemoryError', false],
    ['no checkpoint', { checkpoints: [] }, 'has no checkpoint to paint with', false],
    ['a page', { garbage: '/view' }, 'no PNG', true],
    ['death', { die_mid_render: true }, 'The ComfyUI of slot "img"', true],
  ])('%s is a 502 in its own words', async (_name, knobs, message, isLoss) => {
    await comfy.setKnobs(knobs)
    const answer = await send(gateway.origin, images())
    expect(answer.status).toBe(502)
    const { error } = answer.json() as { error: { code: string; message: string } }
    expect(error.code).toBe('dispatch.upstream_unavailable')
    expect(error.message).toContain(message)
    expect(slots.log.at(-1)).toBe('release img')
    expect(gateway.events.map(({ type }) => type)).toEqual(isLoss ? ['gateway.engine_lost'] : [])
  })

  it('a checkpoint that it does not list', async () => {
    defaults = { checkpoint: 'gone.safetensors' }
    const answer = await send(gateway.origin, images())
    expect(answer.status).toBe(502)
    expect(answer.json()).toMatchObject({
      error: { details: { listed: ['fake-xl.safetensors', 'old/fake-15.safetensors'] } },
    })
  })

  it('nobody listens: other leases are asked for, then it is said', async () => {
    await comfy.stop()
    const answer = await send(gateway.origin, images())
    expect([answer.status, answer.json()]).toMatchObject([502, { error: { code: 'dispatch.upstream_unavailable' } }])
    expect(slots.log.filter((line) => line === 'lease img')).toHaveLength(5)
    expect(arbiterLog).toHaveLength(10)
  })

  it('a lease that is revoked ends it at once', async () => {
    await comfy.setKnobs({ hold_render: true })
    const answer = send(gateway.origin, images())
    await comfy.waitFor('running', 1)
    slots.revoke(Hal0Error.of('slot.unloading', 'Slot "img" is being unloaded', { retryAfterS: 4 }))
    expect([(await answer).status, (await answer).headers['retry-after']]).toEqual([503, '4'])
    expect(slots.log.at(-1)).toBe('release img')
  })
})

describe('several, and some who leave', () => {
  it('two at once both get theirs', async () => {
    await comfy.setKnobs({ hold_render: true })
    const answers = [send(gateway.origin, images()), send(gateway.origin, images({ size: '128x64' }))]
    await comfy.waitFor('prompts', 2)
    await comfy.setKnobs({ hold_render: false })
    const sizes = (await Promise.all(answers)).map((answer) => answer.json()['size'])
    expect(sizes).toEqual(['64x64', '128x64'])
  })

  it('in the queue of ComfyUI: taken out, the other is untouched', async () => {
    await comfy.setKnobs({ hold_render: true })
    const first = send(gateway.origin, images())
    await comfy.waitFor('running', 1)
    const second = start(gateway.origin, images())
    await comfy.waitFor('pending', 1)
    second.destroy()
    await comfy.waitFor('deleted', 1)
    await slots.logged('release img')
    await comfy.setKnobs({ hold_render: false })
    expect((await first).status).toBe(200)
    expect((await comfy.state()).counters).toMatchObject({ renders: 1, interrupts: 0 })
  })

  it('while it renders: lease and pass last until it is over', async () => {
    await comfy.setKnobs({ hold_render: true })
    const req = start(gateway.origin, images())
    const { counters } = await comfy.waitFor('running', 1)
    req.destroy()
    await gateway.requestLine(1)
    await comfy.waitFor('requests', counters.requests + 4)
    expect([slots.log, arbiterLog]).toEqual([['wait img', 'lease img'], ['enter img']])
    expect(gateway.gateway.inFlight()).toBe(1)
    await comfy.setKnobs({ hold_render: false })
    await slots.logged('release img')
    await expect.poll(() => gateway.gateway.inFlight()).toBe(0)
    expect(arbiterLog.at(-1)).toBe('leave img after release img')
    expect((await comfy.state()).counters).toMatchObject({ renders: 1, interrupts: 0, views: 0 })
  })

  it.each([
    ['its client waits', false],
    ['its client left', true],
  ])('the gateway closes while %s: it is not kept by a render', async (_name, leaves) => {
    await comfy.setKnobs({ hold_render: true })
    const req = start(gateway.origin, images())
    const status = new Promise((resolve) => req.once('response', (res) => resolve(res.resume().statusCode)))
    await comfy.waitFor('running', 1)
    if (leaves) {
      req.destroy()
      await gateway.requestLine(1)
    }
    await gateway.gateway.close()
    if (!leaves) expect(await status).toBe(503)
    expect(slots.log.at(-1)).toBe('release img')
    expect((await comfy.state()).counters).toMatchObject({ running: 1, interrupts: 0 })
  })
})
