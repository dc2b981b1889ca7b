import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { runCli } from '../support/run-cli.ts'
import { errorOf, type StubHal0, startStubHal0 } from '../support/stub-hal0.ts'
import { stubRow } from '../support/stub-slots-api.ts'

// Whom `hal0 chat` asks: the gateway chooses among the slots and lanes of a name, as for any other client.

let userFolder = ''
let hub: StubHal0
beforeAll(async () => {
  userFolder = await mkdtemp(join(tmpdir(), 'hal0-cli-chat-'))
})
afterAll(() => rm(userFolder, { recursive: true, force: true }))

const SLOTS = [stubRow('desk', { managed_by: 'lane', model_id: 'hello16' }), stubRow('agent', { aliases: ['helper'] })]
const QUESTION = 'What is 2+2?'
const RESERVED = "lane 'desk' is booked by ben until 2026-12-24T19:00:00.007Z: wait until then"
const explained = (decision: string, slot: string | null) => ({
  ...{ model: 'm', path: '/v1/chat/completions', route: null, decision, slot, reason: 'r', steps: [], candidates: [] },
  ...{ would_load: false, error: null },
})

beforeEach(async () => {
  hub = await startStubHal0({
    'GET /api/slots': { slots: SLOTS },
    'GET /api/dispatch/explain': explained('on_demand', 'scratch'),
    'GET /api/slots/nope': [404, errorOf('slot.not_found', 'there is no slot "nope"')],
    'POST /v1/chat/completions': [403, errorOf('gpu_reserved', RESERVED)],
  })
})
afterEach(() => hub.stop())

const hal0 = (...args: string[]) => runCli([...args, '--url', hub.url], { userFolder, env: { TZ: 'Europe/Berlin' } })
const asked = () =>
  hub.seen.filter(({ line }) => line.startsWith('POST ')).map(({ body }) => (body as { readonly model: string }).model)

describe('the name that was said goes to the gateway', () => {
  it.each([
    // Turned into slot desk it was refused, while the same model was free in slot scratch.
    [['hello16', QUESTION], 'hello16'],
    [['--slot', 'hello16', QUESTION], 'hello16'],
    // A model that no slot has is loaded on demand.
    [['org/name.q8', QUESTION], 'org/name.q8'],
    [['helper', QUESTION], 'helper'],
    [['desk', QUESTION], 'desk'],
    [[QUESTION], 'agent'],
  ])('%j', async (words, model) => {
    await hal0('chat', ...words)
    expect(asked()).toEqual([model])
  })
})

it.each(['fallback', 'error'])('a name that leads nowhere (%s) is answered by nobody', async (decision) => {
  hub.answers.set('GET /api/dispatch/explain', explained(decision, decision === 'error' ? null : 'agent'))
  const run = await hal0('chat', 'nope', QUESTION)
  expect([run.code, run.stderr]).toEqual([1, expect.stringContaining('slot.not_found')])
  expect(asked()).toEqual([])
})

it('a refusal is told in the times of here; with --json as the daemon said it', async () => {
  expect((await hal0('chat', 'desk', QUESTION)).stderr).toContain('until 2026-12-24 20:00 Europe/Berlin: wait')
  expect((await hal0('chat', 'desk', QUESTION, '--json')).stderr).toContain('2026-12-24T19:00:00.007Z')
})
