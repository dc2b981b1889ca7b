import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { hardwareSchema } from '../../src/contract/hardware.ts'
import { startApi, type TestApi } from '../support/start-api.ts'
import { HARDWARE } from '../support/stub-ports.ts'

let api: TestApi
beforeEach(async () => {
  api = await startApi()
})
afterEach(() => api.stop())

describe('GET /api/hardware', () => {
  it('tells what the port read, as the contract has it', async () => {
    const response = await fetch(`${api.url}/api/hardware`)
    expect(response.status).toBe(200)
    expect(hardwareSchema.parse(await response.json())).toEqual(HARDWARE)
    expect(api.ports.asked).toEqual(['hardware'])
  })

  it('has no parameters', async () => {
    expect((await fetch(`${api.url}/api/hardware?gpu=0`)).status).toBe(422)
  })

  it('is a method of the client', async () => {
    expect(await createClient({ baseUrl: api.url }).hardware()).toEqual(HARDWARE)
  })
})
