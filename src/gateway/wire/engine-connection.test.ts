import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { addressOf, EngineConnection } from './engine-connection.ts'

/** Answers, keeping its connections; on `/poison` it has read the request and ends, on `/cut` it ends the connection. */
const ENGINE = `
require('node:http').createServer({ keepAliveTimeout: 60000 }, (req, res) => {
  req.resume().once('end', () => {
    if (req.url === '/poison') process.kill(process.pid, 'SIGKILL')
    else if (req.url === '/cut') req.socket.end()
    else res.end('ok')
  })
}).listen(0, '127.0.0.1', function () { process.stdout.write(this.address().port + '\\n') })`

async function startEngine() {
  const child = spawn(process.execPath, ['-e', ENGINE], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [port] = await once(child.stdout, 'data')
  return { child, connection: connectTo(Number(port)), port: Number(port) }
}

function connectTo(port: number): EngineConnection {
  const connection = new EngineConnection(addressOf(`http://127.0.0.1:${port}`), 'attempt', () => {})
  onTestFinished(() => connection.destroy())
  return connection
}

/** Resolves with the answer, or with why there was none and whether the engine can have read the request. */
function ask(connection: EngineConnection, path: string, body = Buffer.from('{}')) {
  return new Promise<{ answer: string } | { error: Error; isUnread: boolean }>((resolve) => {
    let answer = ''
    connection.send(
      { method: 'POST', path, headers: [], body: { kind: 'whole', pieces: [body], sizeBytes: body.length } },
      {
        takesChunks: false,
        onSend: () => true,
        onHead: () => {},
        onChunks: () => {},
        onPause: () => {},
        onData: (data) => void (answer += data.toString()),
        onEnd: () => resolve({ answer }),
        onError: (error) => resolve({ error, isUnread: connection.wasResetUnread(error) }),
      },
    )
  })
}

/** Kills it and holds this thread until it is gone: what comes on its connections has come, but nobody here has looked. */
function killUnseen({ pid }: ChildProcess): void {
  if (pid === undefined) throw new Error('the engine has no process')
  process.kill(pid, 'SIGKILL')
  const rest = new Int32Array(new SharedArrayBuffer(4))
  // Node takes the zombie away in a later turn.
  while (!/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))) Atomics.wait(rest, 0, 0, 1)
}

describe('a request that came to nothing was', () => {
  it.each([
    ['small', 2],
    ['larger than what the kernel takes at once', 30_000_000],
  ])('unread, when its engine was dead before it was written (%s)', async (_what, size) => {
    const { child, connection } = await startEngine()
    expect(await ask(connection, '/')).toEqual({ answer: 'ok' })
    killUnseen(child)
    // The kernel has the end of the connection by now: this crosses it.
    expect(await ask(connection, '/', Buffer.alloc(size, ' '))).toMatchObject({ isUnread: true })
  })

  it('read, when its engine died of it', async () => {
    const { connection } = await startEngine()
    expect(await ask(connection, '/')).toEqual({ answer: 'ok' })
    expect(await ask(connection, '/poison')).toMatchObject({ isUnread: false })
  })

  it('read, when the engine ended the connection over it and lives', async () => {
    const { connection, port } = await startEngine()
    expect(await ask(connection, '/cut')).toMatchObject({ isUnread: false })
    expect(connection.hasEnded).toBe(true)
    const next = connectTo(port)
    expect(await ask(next, '/')).toEqual({ answer: 'ok' })
    expect(await ask(next, '/cut')).toMatchObject({ isUnread: false })
  })
})
