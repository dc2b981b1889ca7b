import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { agentEndpoint } from '../../../test/support/stub-slots.ts'
import { deferred } from '../../slots/actor/deferred.ts'
import type { EngineConnection } from './engine-connection.ts'
import { EnginePools } from './engine-pools.ts'

/** An engine that only takes connections: what is asked is of no matter to the pools. */
async function begin() {
  const clock = new ManualClock()
  const pools = new EnginePools(clock)
  const accepted: Socket[] = []
  const known = new Set<EngineConnection>()
  const server = createServer((socket) => {
    socket.on('error', () => {}).resume()
    accepted.push(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    await pools.close(new Error('the gateway closes'))
    for (const socket of accepted) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const endpoint = agentEndpoint({ origin: `http://127.0.0.1:${port}` })
  /** A connection that is up; `attemptId` names the engine's generation. */
  const take = async (attemptId = 'one'): Promise<EngineConnection> => {
    const before = accepted.length
    const connection = pools.take({ attemptId, endpoint })
    if (!known.has(connection)) await expect.poll(() => accepted.length).toBeGreaterThan(before)
    known.add(connection)
    return connection
  }
  /** The engine ends its end of it. */
  const closeByEngine = async (connection: EngineConnection, nth: number): Promise<void> => {
    accepted[nth]?.end()
    await expect.poll(() => connection.hasEnded).toBe(true)
  }
  /** One that has shown that it keeps its connections after plain answers; it is idle, since 100 ms. */
  const trusted = async (): Promise<EngineConnection> => {
    const connection = await take()
    await clock.advance(1)
    pools.giveBack(connection)
    await clock.advance(100)
    return connection
  }
  /** A request on it, answered with this header; the engine has one connection. */
  const answer = async (connection: EngineConnection, header: string): Promise<void> => {
    const over = deferred<boolean>()
    const nothing = (): void => {}
    connection.send(
      { method: 'GET', path: '/', headers: [], body: { kind: 'none' } },
      {
        takesChunks: false,
        onSend: () => true,
        onHead: nothing,
        onData: nothing,
        onChunks: nothing,
        onPause: nothing,
        onEnd: over.resolve,
        onError: over.reject,
      },
    )
    accepted.at(-1)?.write(`HTTP/1.1 200 OK\r\n${header}\r\nContent-Length: 0\r\n\r\n`)
    expect(await over.promise).toBe(true)
  }
  return { clock, pools, accepted, take, closeByEngine, trusted, answer }
}

async function expectOver(connection: EngineConnection): Promise<void> {
  await expect.poll(() => connection.hasEnded).toBe(true)
}

describe('probation', () => {
  it('the first connection of a kind is used by nobody for 100 ms, then by the next', async () => {
    const { clock, pools, take } = await begin()
    const first = await take()
    await clock.advance(1)
    pools.giveBack(first)
    await clock.advance(99)
    const second = await take()
    expect(second).not.toBe(first)
    await clock.advance(1)
    expect(await take()).toBe(first)
  })

  it('while one is watched, others that come back are ended', async () => {
    const { clock, pools, take } = await begin()
    const [first, second] = [await take(), await take()]
    pools.giveBack(first)
    pools.giveBack(second)
    await expectOver(second)
    expect(first.hasEnded).toBe(false)
    await clock.advance(100)
    expect(await take()).toBe(first)
  })

  it('an engine that closes within it costs each answer of the kind its connection', async () => {
    const { clock, pools, take, closeByEngine } = await begin()
    const first = await take()
    pools.giveBack(first)
    await closeByEngine(first, 0)
    expect(clock.nextTimerInMs).toBe(800)
    await clock.advance(100)
    const second = await take()
    pools.giveBack(second)
    await expectOver(second)
  })

  it('one that has ended before it comes back says the same', async () => {
    const { pools, take, closeByEngine } = await begin()
    const [first, second] = [await take(), await take()]
    await closeByEngine(first, 0)
    pools.giveBack(first)
    expect(second.hasEnded).toBe(false)
    pools.giveBack(second)
    await expectOver(second)
  })

  it('streams and plain answers are judged apart', async () => {
    const { clock, pools, trusted, take, closeByEngine } = await begin()
    const plain = await trusted()
    const stream = await take()
    expect(stream).toBe(plain)
    stream.didStream = true
    pools.giveBack(stream)
    await closeByEngine(stream, 0)
    const next = await take()
    next.didStream = true
    pools.giveBack(next)
    await expectOver(next)
    const last = await take()
    await clock.advance(1)
    pools.giveBack(last)
    expect(pools.take({ attemptId: 'one', endpoint: agentEndpoint({ origin: 'http://127.0.0.1:1' }) })).toBe(last)
  })

  it('one generation says nothing of the next', async () => {
    const { clock, pools, trusted, take } = await begin()
    await trusted()
    const other = await take('two')
    await clock.advance(1)
    pools.giveBack(other)
    expect(await take('two')).not.toBe(other)
  })
})

describe('distrust', () => {
  it('a connection that was used again and ended without a word: from then on each is used once', async () => {
    const { pools, trusted, take } = await begin()
    const connection = await trusted()
    expect(await take()).toBe(connection)
    pools.distrust(connection)
    await pools.discard(connection)
    const next = await take()
    pools.giveBack(next)
    await expectOver(next)
  })

  it('an idle one that the engine ends before hal0 does that too', async () => {
    for (const afterMs of [1, 99, 700]) {
      const { clock, pools, trusted, take, closeByEngine } = await begin()
      const connection = await trusted()
      expect(await take()).toBe(connection)
      pools.giveBack(connection)
      await clock.advance(afterMs)
      await closeByEngine(connection, 0)
      const next = await take()
      expect(next).not.toBe(connection)
      pools.giveBack(next)
      expect(next.hasEnded || (await take()) !== next).toBe(true)
    }
  })
})

describe('idle connections', () => {
  it('the one that was used last is used first', async () => {
    const { clock, pools, trusted, take } = await begin()
    const first = await trusted()
    await take()
    const second = await take()
    pools.giveBack(second)
    await clock.advance(1)
    pools.giveBack(first)
    expect([await take(), await take()]).toEqual([first, second])
  })

  it('are used for 800 ms and no longer, and are ended within 800 more', async () => {
    const { clock, pools, trusted, take } = await begin()
    const connection = await trusted()
    await clock.advance(699)
    expect(await take()).toBe(connection)
    pools.giveBack(connection)
    await clock.advance(800)
    const fresh = await take()
    expect(fresh).not.toBe(connection)
    await clock.advance(800)
    await expectOver(connection)
    // The one in use is nobody's to end, and nothing ticks for it.
    expect([fresh.hasEnded, clock.pendingTimers]).toEqual([false, 0])
  })

  it.each([
    ['5 seconds: a second less', 5, 4_000],
    ['a minute: not so long', 60, 4_000],
    ['2 seconds', 2, 1_000],
    ['a second: as without a word', 1, 800],
    ['nothing at all: likewise', 0, 800],
  ])('of an engine that promises %s', async (_name, seconds, usableMs) => {
    const { clock, pools, trusted, take, answer } = await begin()
    const connection = await trusted()
    expect(await take()).toBe(connection)
    await answer(connection, `Keep-Alive: timeout=${seconds}`)
    pools.giveBack(connection)
    await clock.advance(usableMs - 1)
    expect(await take()).toBe(connection)
    pools.giveBack(connection)
    await clock.advance(usableMs)
    expect(await take()).not.toBe(connection)
  })

  it('one that became idle when nothing else was: it is ended too', async () => {
    const { clock, pools, take } = await begin()
    const [plain, stream] = [await take(), await take()]
    stream.didStream = true
    pools.giveBack(plain)
    await clock.advance(790)
    // Still watched when the first one is swept away.
    pools.giveBack(stream)
    await clock.advance(10)
    await expectOver(plain)
    await clock.advance(1_600)
    await expectOver(stream)
    expect(clock.pendingTimers).toBe(0)
  })

  it('are at most two more than were ever in use at once', async () => {
    const { pools, trusted, take, accepted } = await begin()
    await trusted()
    const all = [await take(), await take(), await take(), await take()]
    for (const connection of all) pools.giveBack(connection)
    // Four were in use; six may be there.
    expect(all.every(({ hasEnded }) => !hasEnded)).toBe(true)
    expect(accepted).toHaveLength(4)
    for (let round = 0; round < 5; round++) for (const one of [await take(), await take()]) pools.giveBack(one)
    expect(accepted).toHaveLength(4)
  })
})

describe('the end', () => {
  it('of a generation ends what is idle or watched, not what is in use; that is ended when it comes back', async () => {
    const { clock, pools, trusted, take } = await begin()
    const idle = await trusted()
    const busy = await take()
    const second = await take()
    expect(busy).toBe(idle)
    pools.giveBack(busy)
    const watched = await take('two')
    pools.giveBack(watched)
    pools.forget('one')
    await expectOver(idle)
    expect([second.hasEnded, watched.hasEnded]).toEqual([false, false])
    pools.giveBack(second)
    await expectOver(second)
    pools.forget('two')
    await expectOver(watched)
    pools.forget('two')
    pools.forget('nobody')
    await clock.advance(1_600)
    expect(clock.pendingTimers).toBe(0)
  })

  it('of all: everything is ended, whatever it does, and no timer is left', async () => {
    const { clock, pools, trusted, take } = await begin()
    const idle = await trusted()
    const watched = await take('two')
    pools.giveBack(watched)
    const busy = await take('three')
    await pools.close(new Error('the gateway closes'))
    expect([idle, watched, busy].map(({ hasEnded }) => hasEnded)).toEqual([true, true, true])
    expect(clock.pendingTimers).toBe(0)
  })
})
