import { createServer, type Server } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createPortPool } from './port-pool.ts'

const held: Server[] = []

/** Takes a port of the kernel's choice, as another program would. */
async function hold(port = 0): Promise<number> {
  const server = createServer()
  held.push(server)
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no address')
  return address.port
}

let low: number
beforeEach(async () => {
  low = await hold()
})
afterEach(() => Promise.all(held.splice(0).map((server) => new Promise((resolve) => server.close(resolve)))))

describe('the port pool', () => {
  it('gives the lowest free port and passes over a busy one', async () => {
    const pool = createPortPool([low, low + 50])
    const { port } = await pool.claim('a', {})
    expect(port).toBeGreaterThan(low)
    expect((await pool.claim('b', {})).port).toBeGreaterThan(port)
  })

  it('never gives one port to two slots that ask at once', async () => {
    const pool = createPortPool([low, low + 200])
    const claims = await Promise.all(Array.from({ length: 20 }, (_, i) => pool.claim(`s${i}`, {})))
    expect(new Set(claims.map((claim) => claim.port)).size).toBe(20)
  })

  it('keeps the port a slot had, unless it is busy now', async () => {
    const pool = createPortPool([low, low + 200])
    const { port: first } = await pool.claim('a', {})
    const { port: later } = await pool.claim('b', {})
    expect((await pool.claim('b', { previous: later })).port).toBe(later)
    await hold(later)
    expect((await pool.claim('b', { previous: later })).port).not.toBe(later)
    expect((await pool.claim('c', { previous: first })).port).not.toBe(first)
  })

  it('forgets a previous port outside the range', async () => {
    const pool = createPortPool([low, low + 50])
    expect((await pool.claim('a', { previous: low - 1 })).port).toBeGreaterThan(low)
  })

  it('refuses an explicit port that is busy, and says who has it if it is a slot', async () => {
    const pool = createPortPool([low, low + 50])
    await expect(pool.claim('a', { explicit: low })).rejects.toMatchObject({ code: 'slot.port_in_use' })
    const { port } = await pool.claim('a', {})
    await expect(pool.claim('b', { explicit: port })).rejects.toThrow('used by slot a')
    await pool.claim('a', {})
  })

  it('lets an explicit port have what a slot no longer uses, for good', async () => {
    const pool = createPortPool([low, low + 50])
    const claim = await pool.claim('a', {})
    claim.release()
    const { port } = claim
    const explicit = await pool.claim('b', { explicit: port })
    expect(explicit.port).toBe(port)
    explicit.release()
    // Slot b says that it wants this port, slot a only had it once.
    expect((await pool.claim('a', { previous: port })).port).not.toBe(port)
  })

  it('chooses what another slot would like again only when nothing else is free', async () => {
    const pool = createPortPool([low, low + 50])
    const recorded = (await createPortPool([low, low + 50]).claim('probe', {})).port
    pool.prefer('a', recorded)
    expect((await pool.claim('b', {})).port).not.toBe(recorded)
    expect((await pool.claim('a', { previous: recorded })).port).toBe(recorded)

    const narrow = createPortPool([recorded, recorded])
    narrow.prefer('a', recorded)
    expect((await narrow.claim('b', {})).port).toBe(recorded)
  })

  it('does not give up the next claim of a slot with the last one', async () => {
    const pool = createPortPool([low, low + 50])
    const before = await pool.claim('a', {})
    const { port } = await pool.claim('a', { previous: before.port })
    before.release()
    await expect(pool.claim('b', { explicit: port })).rejects.toThrow('used by slot a')
  })

  it('gives nothing to a start that was given up, and takes nothing from its successor', async () => {
    const pool = createPortPool([low, low + 50])
    const { port } = await pool.claim('a', {})
    await expect(pool.claim('a', { signal: AbortSignal.abort() })).rejects.toThrow()
    await expect(pool.checkFree('b', port)).rejects.toThrow('used by slot a')
  })

  it('says so when the range is used up', async () => {
    await expect(createPortPool([low, low]).claim('a', {})).rejects.toMatchObject({
      code: 'slot.port_in_use',
      message: expect.stringContaining('port_range'),
    })
  })
})
