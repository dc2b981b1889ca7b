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
    const port = await pool.claim('a', {})
    expect(port).toBeGreaterThan(low)
    expect(await pool.claim('b', {})).toBeGreaterThan(port)
  })

  it('never gives one port to two slots that ask at once', async () => {
    const pool = createPortPool([low, low + 200])
    const ports = await Promise.all(Array.from({ length: 20 }, (_, i) => pool.claim(`s${i}`, {})))
    expect(new Set(ports).size).toBe(20)
  })

  it('keeps the port a slot had, unless it is busy now', async () => {
    const pool = createPortPool([low, low + 200])
    const first = await pool.claim('a', {})
    const later = await pool.claim('b', {})
    expect(await pool.claim('b', { previous: later })).toBe(later)
    await hold(later)
    expect(await pool.claim('b', { previous: later })).not.toBe(later)
    expect(await pool.claim('c', { previous: first })).not.toBe(first)
  })

  it('forgets a previous port outside the range', async () => {
    const pool = createPortPool([low, low + 50])
    expect(await pool.claim('a', { previous: low - 1 })).toBeGreaterThan(low)
  })

  it('refuses an explicit port that is busy, and says who has it if it is a slot', async () => {
    const pool = createPortPool([low, low + 50])
    await expect(pool.claim('a', { explicit: low })).rejects.toMatchObject({ code: 'slot.port_in_use' })
    const port = await pool.claim('a', {})
    await expect(pool.claim('b', { explicit: port })).rejects.toThrow('used by slot a')
    await pool.claim('a', {})
  })

  it('says so when the range is used up', async () => {
    await expect(createPortPool([low, low]).claim('a', {})).rejects.toMatchObject({
      code: 'slot.port_in_use',
      message: expect.stringContaining('port_range'),
    })
  })
})
