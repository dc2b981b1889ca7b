import fc from 'fast-check'
import { expect, it, onTestFinished } from 'vitest'
import { Hal0Error } from '../../src/kernel/errors.ts'
import { open, start } from '../support/raw-http.ts'
import { type FakeEngine, startFakeEngine } from '../support/start-fake.ts'
import { startGateway } from '../support/start-gateway.ts'
import { createStubDoor } from '../support/stub-door.ts'
import { agentEndpoint, createStubSlots } from '../support/stub-slots.ts'

// Whatever becomes of a request: who entered a lane leaves it once, nothing is forwarded that the list refused, and nothing is left over.

const RESERVED = Hal0Error.of('gpu_reserved', 'lane agent is booked by somebody else')
const messages = [{ role: 'user' as const, content: 'Hi' }]

/** What happens to one request. `nth`: the moment, as a number of tokens or of turns. */
const fate = fc.record({
  path: fc.constantFrom(
    '/v1/chat/completions',
    '/v1/messages',
    '/upstream/agent/v1/chat/completions',
    '/upstream/agent/props',
  ),
  stream: fc.boolean(),
  fake: fc.constantFrom(
    {},
    { error_status: 500 },
    { die_after_tokens: 0 },
    { die_after_tokens: 2, die_how: 'reset' },
    { tokens_per_second: 200 },
  ),
  outcome: fc.constantFrom('stays', 'stays', 'leaves', 'is_ended', 'is_revoked', 'is_refused'),
  turns: fc.nat(12),
})
type Fate = typeof fate extends fc.Arbitrary<infer F> ? F : never

async function world(engine: FakeEngine) {
  const door = createStubDoor({ agent: {} })
  const slots = createStubSlots({ agent: { endpoint: agentEndpoint(engine), parallel: 2 } })
  const gateway = await startGateway(slots, {}, undefined, { lanes: door })
  onTestFinished(() => gateway.stop())
  return { door, slots, gateway }
}

type World = Awaited<ReturnType<typeof world>>

async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve))
}

async function live(
  { door, slots, gateway }: World,
  { path, stream, fake, outcome, turns: count }: Fate,
): Promise<void> {
  const request = path.endsWith('/props')
    ? { path }
    : { path, body: { model: 'agent', messages, max_tokens: 4, stream, fake } }
  if (outcome === 'leaves') {
    const req = start(gateway.origin, request)
    await turns(count)
    req.destroy()
    return
  }
  const before = door.stays.length
  const answered = open(gateway.origin, request).then((answer) => answer.rest())
  // A connection that breaks is one of the ends.
  const isOver = answered.catch(() => '')
  await turns(count)
  if (outcome === 'is_ended') {
    const stay = door.stays[before]
    if (stay !== undefined && !stay.log.includes('leave')) stay.end(RESERVED)
  }
  if (outcome === 'is_revoked') slots.revoke(Hal0Error.of('slot.unloading', 'it stops', { retryAfterS: 1 }))
  if (outcome === 'is_refused') door.onLease = () => RESERVED
  await isOver
  door.onLease = () => undefined
}

it('who entered leaves exactly once', { timeout: 120_000 }, async () => {
  const engine = await startFakeEngine({ argv: ['--alias', 'agent', '--parallel', '64'] })
  onTestFinished(() => engine.stop())
  const at = await world(engine)
  let asked = 0
  await fc.assert(
    fc.asyncProperty(fc.array(fate, { minLength: 1, maxLength: 8 }), fc.boolean(), async (fates, isHeld) => {
      asked += fates.length
      at.slots.leasesAtOnce = !isHeld
      await Promise.all(fates.map((one) => live(at, one)))
      // A request that left before the gateway heard of it is none; the others are over when their line is there.
      while (at.gateway.gateway.inFlight() > 0) await turns(1)
      for (const { log } of at.door.stays) {
        expect(log.filter((entry) => entry === 'leave')).toHaveLength(1)
        expect(log.at(-1)).toBe('leave')
      }
      expect(at.slots.leases()).toEqual([])
    }),
    { numRuns: 60 },
  )
  expect(at.door.stays.length).toBeGreaterThan(asked / 3)
  const seen = new Set(at.door.stays.map(({ log }) => log.join(' ')))
  expect([...seen]).toEqual(expect.arrayContaining(['leased leave', 'refused leave', 'leave']))
})

it.each([
  ['asking for a lease', 'leaseNow'],
  ['waiting for one', 'acquire'],
] as const)('a mistake of ours while %s', async (_name, method) => {
  const engine = await startFakeEngine({ argv: ['--alias', 'agent'] })
  onTestFinished(() => engine.stop())
  const { door, slots, gateway } = await world(engine)
  slots.leasesAtOnce = false
  slots[method] = () => {
    throw new Error('a mistake')
  }
  const answer = await open(gateway.origin, { path: '/v1/chat/completions', body: { model: 'agent', messages } })
  expect(answer.res.statusCode).toBe(500)
  await answer.rest()
  expect(door.stays.map(({ log }) => log)).toEqual([['leave']])
})
