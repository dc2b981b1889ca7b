import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { eventually, startTestDaemon, type TestDaemon } from '../support/daemon-harness.ts'
import { heldBytes } from '../support/held-memory.ts'

const CLIENTS = 100
/** One answer: 4.6 MB. */
const TOKENS = 460
const TOKEN_BYTES = 10_000
const ANSWER_BYTES = TOKENS * TOKEN_BYTES

/** A client that asks for a large stream and reads no more than its head. */
async function openAndStop(at: TestDaemon): Promise<Socket> {
  const body = JSON.stringify({
    model: 'a',
    messages: [{ role: 'user', content: 'hi' }],
    stream: true,
    ignore_eos: true,
    max_tokens: TOKENS,
    fake: { chunk_bytes: TOKEN_BYTES },
  })
  const { host, port } = new URL(at.daemon.url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.on('error', () => {})
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
  await once(socket, 'readable')
  // The first line and no more: from here on nothing is taken from the kernel.
  expect(String(socket.read(15))).toBe('HTTP/1.1 200 OK')
  return socket
}

/** Resolves with the engine's bytes written once they stand still. */
async function engineBytesAtRest(read: () => Promise<number>): Promise<number> {
  let before = 0
  let looks = 0
  await eventually(async () => {
    const now = await read()
    // A pause of one look is no rest: the machine may be busy.
    looks = now === before ? looks + 1 : 0
    before = now
    return looks >= 20
  })
  return before
}

describe('CASES 46: 100 clients that open 4.6 MB streams and stop reading', () => {
  it('hold the engine back, cost no memory that grows, and others are served', async () => {
    // One slot for them; the other has to stay as it is.
    const at = await startTestDaemon({ a: { knobs: { total_slots: CLIENTS + 8 } }, b: {} })
    const engine = await at.load('a')
    await at.load('b')

    const round = async (): Promise<{ heldBytes: number; engineBytes: number }> => {
      await engine.reset()
      const sockets = await Promise.all(Array.from({ length: CLIENTS }, () => openAndStop(at)))
      const engineBytes = await engineBytesAtRest(async () => (await engine.state()).bytes_written)
      const held = await heldBytes()
      // Others are served meanwhile, by the same slot and by another one.
      for (const model of ['a', 'b']) {
        const answer = await at.chat({ model, stream: true, max_tokens: 5 })
        expect(await answer.text()).toContain('[DONE]')
      }
      expect(at.row('a').in_flight).toBe(CLIENTS)
      for (const socket of sockets) socket.destroy()
      await eventually(() => at.row('a').in_flight === 0)
      await engine.waitFor('aborts_mid_stream', CLIENTS)
      return { heldBytes: held, engineBytes }
    }

    const first = await round()
    // Held back: what lies in the kernel's buffers of two connections each, by far not what was asked for.
    expect(first.engineBytes).toBeLessThan((CLIENTS * ANSWER_BYTES) / 1.5)
    const second = await round()
    const third = await round()
    // Flat: the third round finds no more in memory than the first did, and each client costs kilobytes.
    expect(third.heldBytes).toBeLessThan(first.heldBytes * 1.2 + 1_000_000)
    expect(second.heldBytes).toBeLessThan(first.heldBytes * 1.2 + 1_000_000)
    const idle = await heldBytes()
    expect((third.heldBytes - idle) / CLIENTS).toBeLessThan(512 * 1024)
  })

  it('get every byte when they read on', async () => {
    const at = await startTestDaemon({ a: { knobs: { total_slots: 8 } } })
    const engine = await at.load('a')
    const sockets = await Promise.all(Array.from({ length: 4 }, () => openAndStop(at)))
    await engineBytesAtRest(async () => (await engine.state()).bytes_written)
    const texts = await Promise.all(
      sockets.map(async (socket) => {
        let bytes = 0
        let tail = ''
        for await (const part of socket as AsyncIterable<Buffer>) {
          bytes += part.length
          tail = (tail + part.toString('latin1')).slice(-200)
          if (tail.endsWith('0\r\n\r\n')) break
        }
        socket.destroy()
        return { bytes, tail }
      }),
    )
    for (const { bytes, tail } of texts) {
      expect(bytes).toBeGreaterThan(ANSWER_BYTES)
      expect(tail).toContain('data: [DONE]')
    }
    await eventually(() => at.row('a').in_flight === 0)
    expect((await engine.state()).counters).toMatchObject({ answered: 4, aborts: 0 })
  })
})
