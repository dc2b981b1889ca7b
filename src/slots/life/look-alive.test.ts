import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { createLiveLook, type LiveLook } from './look-alive.ts'

let server: Server | undefined
let live: LiveLook | undefined
const sockets = new Set<Socket>()
afterEach(async () => {
  await live?.close()
  for (const socket of sockets) socket.destroy()
  sockets.clear()
  const open = server
  server = undefined
  if (open?.listening === true) await new Promise((resolve) => open.close(resolve))
})

/** Raw: what arrives, and when, is the test's. Resolves to its origin. */
async function listen(answer: (socket: Socket, head: string) => void): Promise<string> {
  const listening = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).once('data', (head) => answer(socket, head.toString()))
  })
  server = listening
  listening.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  const address = listening.address()
  if (address === null || typeof address === 'string') throw new Error('no address')
  return `http://127.0.0.1:${address.port}`
}

const answering =
  (line: string, rest = 'content-length: 2\r\n\r\nok') =>
  (socket: Socket): void =>
    void socket.write(`HTTP/1.1 ${line}\r\n${rest}`)

function looker(origin: string, timeoutMs?: number): LiveLook {
  live = createLiveLook(origin, { healthPath: '/alive' }, 'the-key', timeoutMs)
  return live
}

describe('a look at a live engine', () => {
  it.each<[string, (socket: Socket) => void, 'alive' | 'silent', number?]>([
    ['200', answering('200 OK'), 'alive'],
    ['401: whoever asks, somebody answers', answering('401 Unauthorized'), 'alive'],
    ['404', answering('404 Not Found'), 'alive'],
    ['499', answering('499 Whatever'), 'alive'],
    ['500', answering('500 Oops'), 'silent'],
    ['503', answering('503 Unavailable'), 'silent'],
    ['a body that never ends', answering('200 OK', 'content-length: 100\r\n\r\nok'), 'alive'],
    ['a body that is cut', (socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nok'), 'alive'],
    ['no answer in time', () => {}, 'silent', 50],
    ['a closed connection', (socket) => void socket.destroy(), 'silent'],
    ['a reset connection', (socket) => void socket.resetAndDestroy(), 'silent'],
    ['another protocol', (socket) => void socket.end('SSH-2.0-x\r\n'), 'silent'],
  ])('%s', async (_name, answer, look, timeoutMs) => {
    const origin = await listen(answer)
    expect(await looker(origin, timeoutMs).look()).toBe(look)
  })

  it('goes to the health path with the key, on a connection of its own each time', async () => {
    const heads: string[] = []
    const ok = answering('200 OK')
    const watch = looker(
      await listen((socket, head) => {
        heads.push(head)
        ok(socket)
      }),
    )
    expect([await watch.look(), await watch.look()]).toEqual(['alive', 'alive'])
    expect(heads).toHaveLength(2)
    expect(sockets.size).toBe(2)
    expect(heads[0]).toMatch(/^GET \/alive HTTP\/1\.1\r\n/)
    expect(heads[0]).toContain('authorization: Bearer the-key')
  })

  it('says refused when nobody listens, and alive again when somebody does', async () => {
    const origin = await listen(answering('200 OK'))
    const watch = looker(origin)
    const port = Number(new URL(origin).port)
    await new Promise((resolve) => server?.close(resolve))
    expect(await watch.look()).toBe('refused')
    server?.listen(port, '127.0.0.1')
    expect(await watch.look()).toBe('alive')
  })

  it('ends a look that runs when it is closed; later ones are silent', async () => {
    const origin = await listen(() => {})
    const watch = looker(origin)
    const look = watch.look()
    await expect.poll(() => sockets.size).toBe(1)
    await watch.close()
    expect(await look).toBe('silent')
    expect(await watch.look()).toBe('silent')
    await watch.close()
  })
})
