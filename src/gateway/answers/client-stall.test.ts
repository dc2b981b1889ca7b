import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, it } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { createClientStallGuard, takenBytesOf } from './client-stall.ts'

function watched(limitMs = 800) {
  const clock = new ManualClock()
  let taken = 0
  let stalls = 0
  const guard = createClientStallGuard(
    clock,
    limitMs,
    () => taken,
    () => {
      stalls++
    },
  )
  return {
    guard,
    clock,
    take: () => {
      taken++
    },
    stalls: () => stalls,
  }
}

it('ends a client that takes nothing, at the limit and not at twice of it', async () => {
  const t = watched()
  t.guard.watch()
  await t.clock.advance(799)
  expect(t.stalls()).toBe(0)
  await t.clock.advance(1)
  expect(t.stalls()).toBe(1)
  expect(t.clock.pendingTimers).toBe(0)
})

it('lets a slow client live as long as it takes something', async () => {
  const t = watched()
  t.guard.watch()
  for (let i = 0; i < 20; i++) {
    await t.clock.advance(700)
    t.take()
  }
  expect(t.stalls()).toBe(0)
  await t.clock.advance(900)
  expect(t.stalls()).toBe(1)
})

it('rests while nothing waits, and counts anew afterwards', async () => {
  const t = watched()
  t.guard.watch()
  await t.clock.advance(700)
  t.guard.rest()
  expect(t.clock.pendingTimers).toBe(0)
  await t.clock.advance(10_000)
  t.guard.watch()
  t.guard.watch()
  expect(t.clock.pendingTimers).toBe(1)
  await t.clock.advance(799)
  expect(t.stalls()).toBe(0)
  await t.clock.advance(1)
  expect(t.stalls()).toBe(1)
})

it('has no limit when the limit is 0', () => {
  const t = watched(0)
  t.guard.watch()
  expect(t.clock.pendingTimers).toBe(0)
})

it('sees a client take a part of one large write', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [socket] = (await once(server, 'connection')) as [Socket]
  try {
    client.pause()
    let isWritten = false
    socket.write(Buffer.alloc(64 * 1024 * 1024), () => {
      isWritten = true
    })
    const before = takenBytesOf(socket)
    expect(before).toBeLessThan(64 * 1024 * 1024)
    let readBytes = 0
    client.on('data', (piece: Buffer) => {
      readBytes += piece.length
      // More than the kernel holds, less than all.
      if (readBytes > 16 * 1024 * 1024) client.pause()
    })
    client.resume()
    await expect.poll(() => takenBytesOf(socket)).toBeGreaterThan(before)
    expect(isWritten).toBe(false)
  } finally {
    client.destroy()
    socket.destroy()
    server.close()
  }
})
