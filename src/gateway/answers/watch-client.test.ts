import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import type { ExchangeFacts } from '../exchange.ts'
import { watchClient } from './watch-client.ts'

const LIMIT_MS = 800
/** More than the kernel takes for a client that does not read. */
const LONG_BYTES = 64 * 1024 * 1024

let server: Server
let client: Socket
let clock: ManualClock

beforeEach(async () => {
  clock = new ManualClock()
  server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  await once(client, 'connect')
  client.pause()
})

afterEach(async () => {
  client.destroy()
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
})

/** Requests that the client sends at once, as the server has them. */
async function asked(count: number): Promise<[IncomingMessage, ServerResponse][]> {
  const got: [IncomingMessage, ServerResponse][] = []
  const all = new Promise<void>((resolve) => {
    server.on('request', (req, res) => {
      if (got.push([req, res]) === count) resolve()
    })
  })
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(count))
  await all
  return got
}

function watched([req, res]: [IncomingMessage, ServerResponse]) {
  const facts: ExchangeFacts = {}
  return { facts, res, guard: watchClient({ clock, req, res, facts }, LIMIT_MS) }
}

/** What the kernel still takes after the first look is progress, so one limit may not be enough. */
async function stalled(res: ServerResponse): Promise<void> {
  for (let n = 0; n < 10 && !res.destroyed; n++) await clock.advance(LIMIT_MS)
}

it('cuts off a client that takes nothing, and notes it', async () => {
  const [one] = await asked(1)
  if (one === undefined) throw new Error('no request')
  const { facts, res, guard } = watched(one)
  res.end(Buffer.alloc(LONG_BYTES))
  guard.watch()
  await stalled(res)
  expect([facts.failure, res.destroyed]).toEqual(['client_stalled', true])
  await expect.poll(() => clock.pendingTimers).toBe(0)
})

it('keeps an earlier reason', async () => {
  const [one] = await asked(1)
  if (one === undefined) throw new Error('no request')
  const { facts, res, guard } = watched(one)
  facts.failure = 'dispatch.upstream_unavailable'
  res.end(Buffer.alloc(LONG_BYTES))
  guard.watch()
  await stalled(res)
  expect([facts.failure, res.destroyed]).toEqual(['dispatch.upstream_unavailable', true])
})

it('rests when the answer is over', async () => {
  const [one] = await asked(1)
  if (one === undefined) throw new Error('no request')
  const { facts, res, guard } = watched(one)
  guard.watch()
  expect(clock.pendingTimers).toBe(1)
  client.resume()
  res.end('short')
  await once(res, 'close')
  expect([clock.pendingTimers, facts.failure]).toEqual([0, undefined])
})

it('does not blame a client for an answer that stands behind another', async () => {
  const [first, second] = await asked(2)
  if (first === undefined || second === undefined) throw new Error('no requests')
  const { facts, res, guard } = watched(second)
  res.end('behind')
  guard.watch()
  await clock.advance(3 * LIMIT_MS)
  expect([facts.failure, res.destroyed, clock.pendingTimers]).toEqual([undefined, false, 1])
  client.resume()
  first[1].end('before')
  await once(res, 'close')
  expect(clock.pendingTimers).toBe(0)
})
