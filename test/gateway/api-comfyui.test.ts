import { afterEach, beforeEach, expect, it } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { Hal0Error } from '../../src/kernel/errors.ts'
import { startApi, type TestApi } from '../support/start-api.ts'
import { ARBITER } from '../support/stub-ports.ts'

let api: TestApi
beforeEach(async () => {
  api = await startApi()
})
afterEach(() => api.stop())

it('the client asks, pins and switches; each answer is the status by then', async () => {
  const { comfyui } = createClient({ baseUrl: api.url })
  expect(await comfyui.status()).toEqual(ARBITER)
  expect(await comfyui.pin(true)).toEqual(ARBITER)
  expect(await comfyui.switchover({ mode: 'img' })).toEqual(ARBITER)
  expect(await comfyui.switchover({ mode: 'llm', force: true, pin: false })).toEqual(ARBITER)
  expect(api.ports.asked.filter((call) => call !== 'arbiter.status')).toEqual([
    'arbiter.pin true',
    'arbiter.switchover {"mode":"img","force":false}',
    'arbiter.switchover {"mode":"llm","force":true,"pin":false}',
  ])
})

it.each([
  ['pin', {}, 'pinned'],
  ['pin', { pinned: 'yes' }, 'pinned'],
  ['pin', { pinned: true, mode: 'img' }, 'mode'],
  ['switchover', {}, 'mode'],
  ['switchover', { mode: 'video' }, 'mode'],
  ['switchover', { mode: 'img', force: 1 }, 'force'],
])('POST %s %j is refused for %s, and nothing is asked', async (verb, body, param) => {
  const response = await fetch(`${api.url}/api/comfyui/${verb}`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  })
  expect(response.status).toBe(422)
  expect(await response.json()).toMatchObject({ error: { code: 'validation.invalid', param } })
  expect(api.ports.asked).toEqual([])
})

it('an error of the arbiter is told as it is', async () => {
  api.ports.failWith(Hal0Error.of('gpu.image_mode', 'images have the memory', { retryAfterS: 30 }))
  const response = await fetch(`${api.url}/api/comfyui/status`)
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '30'])
})
