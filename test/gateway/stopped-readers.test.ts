import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { eventually, startTestDaemon, type TestDaemon } from '../support/daemon-harness.ts'
import { heldBytes } from '../support/held-memory.ts'

const CLIENTS = 100

/** One answer of so many tokens of so many bytes each. */
interface Size {
  readonly tokens: number
  readonly tokenBytes: number
}
/** 4.6 MB. */
const LARGE: Size = { tokens: 460, tokenBytes: 10_000 }
/** Of 4.6 MB the kernel takes nearly all from a server that does not wait: twice that shows in its memory. */
const LARGER: Size = { tokens: 920, tokenBytes: 10_000 }
/** More than the kernel keeps for two connections in a row, whatever it has grown their buffers to. */
const ENDLESS: Size = { tokens: 1900, tokenBytes: 200_000 }
const bytesOf = ({ tokens, tokenBytes }: Size) => tokens * tokenBytes

/** A client that asks for a large stream and reads no more than its first line. */
async function openAndStop(at: TestDaemon, size: Size): Promise<Socket> {
  const body = JSON.stringify({
    model: 'a',
    messages: [{ role: 'user', content: 'hi' }],
    stream: true,
    ignore_eos: true,
    max_tokens: size.tokens,
    fake: { chunk_bytes: size.tokenBytes },
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

describe('CASES 46: clients that open large streams and stop reading', () => {
  it('a hundred of them: memory is flat, and others are served', { timeout: 180_000 }, async () => {
    const at = await startTestDaemon({ a: { knobs: { total_slots: CLIENTS + 8 } }, b: {} })
    const engine = await at.load('a')
    await at.load('b')

    const round = async (): Promise<number> => {
      await engine.reset()
      const sockets = await Promise.all(Array.from({ length: CLIENTS }, () => openAndStop(at, LARGER)))
      await engineBytesAtRest(async () => (await engine.state()).bytes_written)
      // Others are served meanwhile, by the same slot and by another one.
      for (const model of ['a', 'b']) {
        const answer = await at.chat({ model, stream: true, max_tokens: 5 })
        expect(await answer.text()).toContain('[DONE]')
      }
      const held = await heldBytes()
      for (const socket of sockets) socket.destroy()
      await eventually(() => at.row('a').in_flight === 0)
      return held
    }

    const idle = await heldBytes()
    const first = await round()
    const second = await round()
    // The second round finds no more in memory than the first did, and what a client costs is no part of its answer.
    expect(second).toBeLessThan(first + 3_000_000)
    // The clients' own sockets are in it.
    expect((first - idle) / CLIENTS).toBeLessThan(400_000)
  })

  it('hold the engine back, and are aborted there when they leave', async () => {
    const at = await startTestDaemon({ a: { knobs: { total_slots: 8 } } })
    const engine = await at.load('a')
    const sockets = await Promise.all(Array.from({ length: 4 }, () => openAndStop(at, ENDLESS)))
    const engineBytes = await engineBytesAtRest(async () => (await engine.state()).bytes_written)
    expect(engineBytes).toBeLessThan((4 * bytesOf(ENDLESS)) / 4)
    expect(at.row('a').in_flight).toBe(4)
    for (const socket of sockets) socket.destroy()
    await engine.waitFor('aborts_mid_stream', 4)
    await eventually(() => at.row('a').in_flight === 0)
  })

  it('get every byte when they read on', async () => {
    const at = await startTestDaemon({ a: { knobs: { total_slots: 8 } } })
    const engine = await at.load('a')
    const sockets = await Promise.all(Array.from({ length: 4 }, () => openAndStop(at, LARGE)))
    await engineBytesAtRest(async () => (await engine.state()).bytes_written)
    for (const socket of sockets) {
      let bytes = 0
      let tail = ''
      for await (const part of socket as AsyncIterable<Buffer>) {
        bytes += part.length
        tail = (tail + part.toString('latin1')).slice(-200)
        if (tail.endsWith('0\r\n\r\n')) break
      }
      expect(bytes).toBeGreaterThan(bytesOf(LARGE))
      expect(tail).toContain('data: [DONE]')
    }
    await eventually(() => at.row('a').in_flight === 0)
    expect((await engine.state()).counters).toMatchObject({ answered: 4, aborts: 0 })
  })
})
