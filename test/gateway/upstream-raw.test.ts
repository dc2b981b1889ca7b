import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type ClientRequest, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type GatewayWorld, startGatewayAt } from '../support/gateway-world.ts'
import { dial, startSocketEngine } from '../support/raw-socket.ts'

// `/upstream/<slot>/…`: bytes of any kind, both ways, as they come.

interface Seen {
  readonly method: string
  readonly url: string
  readonly rawHeaders: readonly string[]
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}
type Answerer = (req: IncomingMessage, res: ServerResponse, body: Buffer) => void

interface RawWorld extends GatewayWorld {
  readonly seen: readonly Seen[]
}

/** A plain HTTP engine that reads each request to its end first. */
async function begin(answer: Answerer = (_req, res, body) => void res.end(body)): Promise<RawWorld> {
  const seen: Seen[] = []
  const at = await beginUnread((req, res) => {
    const pieces: Buffer[] = []
    req.on('data', (piece: Buffer) => pieces.push(piece))
    req.on('end', () => {
      const { method = '', url = '', rawHeaders, headers } = req
      const body = Buffer.concat(pieces)
      seen.push({ method, url, rawHeaders, headers, body })
      answer(req, res, body)
    })
  })
  return { ...at, seen }
}

/** The same, but the engine decides itself when it reads. */
async function beginUnread(answer: (req: IncomingMessage, res: ServerResponse) => void): Promise<GatewayWorld> {
  const engine = createServer({ keepAliveTimeout: 5_000 }, (req, res) => {
    req.on('error', () => {})
    res.on('error', () => {})
    answer(req, res)
  })
  engine.listen(0, '127.0.0.1')
  await once(engine, 'listening')
  const { port } = engine.address() as AddressInfo
  onTestFinished(() => {
    engine.closeAllConnections()
    engine.close()
  })
  return startGatewayAt({ origin: `http://127.0.0.1:${port}`, key: 'engine-key' })
}

interface Got {
  readonly status: number
  readonly message: string
  readonly headers: IncomingMessage['headers']
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
}

interface Ask {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string | string[]>>
  readonly body?: Buffer | undefined
  /** Sent without a length. */
  readonly isChunked?: boolean
}

function begun(origin: string, { method = 'GET', path = '/x', headers = {} }: Ask): ClientRequest {
  const req = request(`${origin}/upstream/agent${path}`, { method, agent: false, headers })
  req.on('error', () => {})
  return req
}

async function read(res: IncomingMessage): Promise<Got> {
  const pieces: Buffer[] = []
  for await (const piece of res) pieces.push(Buffer.from(piece as Uint8Array))
  const { statusCode = 0, statusMessage = '', headers, rawHeaders } = res
  return { status: statusCode, message: statusMessage, headers, rawHeaders, body: Buffer.concat(pieces) }
}

/** Rejects when the connection ends before the answer does. */
async function ask(origin: string, { body, isChunked = false, headers = {}, ...more }: Ask): Promise<Got> {
  const length = body === undefined || isChunked ? {} : { 'content-length': String(body.length) }
  const req = begun(origin, { ...more, headers: { ...headers, ...length } })
  const answer = answerTo(req)
  if (body === undefined) req.end()
  else if (isChunked) {
    // In uneven pieces, with the backpressure of a careful client.
    for (let at = 0, size = 1; at < body.length; at += size, size = (size * 7) % 150_001) {
      if (!req.write(body.subarray(at, at + size))) await new Promise((resolve) => req.once('drain', resolve))
    }
    req.end()
  } else req.end(body)
  return read(await answer)
}

function answerTo(req: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    req.once('response', resolve)
    req.once('close', () => reject(new Error('the connection closed without an answer')))
  })
}

/** A promise, and what settles it. */
function deferred<T>() {
  let resolve: (value: T) => void = () => {}
  const promise = new Promise<T>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

const hashOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

describe('bodies, byte for byte, both ways', () => {
  it.each([0, 1, 16_384, 65_535, 65_536, 65_537, 1_000_003, 5_000_000])('%i bytes', async (size) => {
    const body = randomBytes(size)
    const world = await begin((req, res, got) => {
      if (req.headers['x-chunked'] === '1') {
        res.write(got.subarray(0, got.length >> 1))
        res.end(got.subarray(got.length >> 1))
      } else res.writeHead(200, { 'content-length': got.length }).end(got)
    })
    for (const isChunked of [false, true]) {
      for (const chunked of ['0', '1']) {
        const got = await ask(world.origin, { method: 'POST', headers: { 'x-chunked': chunked }, body, isChunked })
        expect([got.status, got.body.length, hashOf(got.body)]).toEqual([200, size, hashOf(body)])
        expect(got.headers['content-length']).toBe(chunked === '1' ? undefined : String(size))
      }
    }
    for (const { body: sent, headers } of world.seen) {
      expect(hashOf(sent)).toBe(hashOf(body))
      // Never both.
      expect(headers['content-length'] === undefined || headers['transfer-encoding'] === undefined).toBe(true)
    }
    expect(world.seen.map(({ headers }) => headers['content-length'])).toEqual([
      String(size),
      String(size),
      // Node says that there is nothing, where nothing was written.
      ...(size === 0 ? ['0', '0'] : [undefined, undefined]),
    ])
  })

  it('gzip stays gzip: nobody looks into it', async () => {
    const packed = gzipSync(Buffer.from('{"model":"/secret.gguf"}'))
    const world = await begin((_req, res) =>
      res.writeHead(200, { 'content-encoding': 'gzip', 'content-type': 'application/json' }).end(packed),
    )
    const headers = { 'content-encoding': 'gzip', 'accept-encoding': 'br;q=1.0, gzip;q=0.5' }
    const got = await ask(world.origin, { method: 'PUT', headers, body: packed })
    expect([got.headers['content-encoding'], got.body.equals(packed)]).toEqual(['gzip', true])
    expect(world.seen[0]?.headers).toMatchObject(headers)
    expect(world.seen[0]?.body.equals(packed)).toBe(true)
  })

  it.each(['DELETE', 'PUT', 'PATCH', 'GET'])('%s may have a body', async (method) => {
    const world = await begin()
    const body = Buffer.from([0, 1, 2, 255])
    const got = await ask(world.origin, { method, body })
    expect([got.status, got.body]).toEqual([200, body])
    expect(world.seen[0]).toMatchObject({ method, body })
  })
})

describe('answers', () => {
  it.each([
    [204, {}],
    [304, { etag: '"x"' }],
    [204, { 'x-odd': 'yes' }],
  ])('%i has no body, and the connection goes on', async (status, headers) => {
    const world = await begin((_req, res) => void res.writeHead(status, headers).end())
    for (let n = 0; n < 3; n++) {
      const got = await ask(world.origin, { headers: { 'if-none-match': '"x"' } })
      expect([got.status, got.body.length]).toEqual([status, 0])
      expect(got.headers).toMatchObject(headers)
      expect(got.headers['transfer-encoding']).toBeUndefined()
    }
    expect(world.seen[0]?.headers['if-none-match']).toBe('"x"')
  })

  it('HEAD: the length of what GET would give', async () => {
    const world = await begin((_req, res) => res.writeHead(200, { 'content-length': 4_321, etag: '"y"' }).end())
    const got = await ask(world.origin, { method: 'HEAD' })
    expect([got.status, got.body.length, got.headers['content-length'], got.headers.etag]).toEqual([
      200,
      0,
      '4321',
      '"y"',
    ])
    expect(world.seen[0]?.method).toBe('HEAD')
  })

  it.each([400, 401, 404, 409, 418, 429, 500, 501, 503, 599])('%i with odd bodies', async (status) => {
    const bodies = [Buffer.alloc(0), Buffer.from('{"model":'), Buffer.from('<p>no'), randomBytes(100_000)]
    let nth = 0
    const world = await begin(
      (_req, res) =>
        void res.writeHead(status, 'Very Odd', { 'retry-after': '9', 'www-authenticate': 'Odd' }).end(bodies[nth++]),
    )
    for (const body of bodies) {
      const got = await ask(world.origin, { method: 'POST', body: Buffer.from('{}') })
      expect([got.status, got.body.equals(body)]).toEqual([status, true])
      expect(got.headers).toMatchObject({ 'retry-after': '9', 'www-authenticate': 'Odd' })
    }
    expect(world.gateway.events).toEqual([])
  })

  it.each([301, 302, 303, 307, 308])('%i is passed on, and not followed', async (status) => {
    const world = await begin((_req, res) => void res.writeHead(status, { location: '/elsewhere?x=1' }).end('moved'))
    const got = await ask(world.origin, { method: 'POST', body: Buffer.from('x') })
    expect([got.status, got.headers.location, got.body.toString()]).toEqual([status, '/elsewhere?x=1', 'moved'])
    expect(world.seen).toHaveLength(1)
  })

  it('headers that come twice stay two, in their order, both ways', async () => {
    const world = await begin((_req, res) => {
      res.writeHead(200, ['Set-Cookie', 'a=1; Path=/', 'X-Odd', '1', 'Set-Cookie', 'b=2', 'X-Odd', '2', 'Link', 'x'])
      res.end()
    })
    const got = await ask(world.origin, { headers: { 'X-Twice': ['1', '2'] } })
    expect(got.headers['set-cookie']).toEqual(['a=1; Path=/', 'b=2'])
    const odd = got.rawHeaders.filter((_, at, all) => all[at - 1]?.toLowerCase() === 'x-odd')
    expect(odd).toEqual(['1', '2'])
    const sent = world.seen[0]?.rawHeaders.filter((_, at, all) => all[at - 1]?.toLowerCase() === 'x-twice')
    expect(sent).toEqual(['1', '2'])
  })

  it.each([
    ['/x?a=%20&b=+&&c', '/x?a=%20&b=+&&c'],
    ['/x?api_key=secret', '/x'],
    ['/x?a=1&api_key=secret&b=%C3%A9', '/x?a=1&b=%C3%A9'],
    ['/x?key=secret&q=%zz', '/x?q=%zz'],
    ['/x?a=api_key=1', '/x?a=api_key=1'],
    ['/a/../b/./c//d', '/a/../b/./c//d'],
    ['/%7Bx%7D?[]=1', '/%7Bx%7D?[]=1'],
  ])('%s is asked as %s', async (path, url) => {
    const world = await begin()
    // A client that does not tidy up the path itself.
    const raw = dial(world.gateway.port, `GET /upstream/agent${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    expect(await raw.ended).toMatch(/^HTTP\/1.1 200 /)
    expect(world.seen.map((one) => one.url)).toEqual([url])
  })
})

describe('ends in the middle', () => {
  it('a client that leaves while it uploads: the engine sees it, the lease comes back', async () => {
    const cut = deferred<boolean>()
    const world = await beginUnread((req) => {
      req.resume()
      req.on('close', () => cut.resolve(req.complete))
    })
    for (const [n, headers] of [{}, { 'content-length': '9000000' }].entries()) {
      const req = begun(world.origin, { method: 'POST', headers })
      req.write(Buffer.alloc(100_000))
      await world.slots.logged('lease agent', n + 1)
      req.destroy()
    }
    await world.slots.logged('release agent', 2)
    expect(await cut.promise).toBe(false)
    expect(await world.gateway.requestLine(2)).toMatchObject({ failure: 'client_gone' })
  })

  it('a client that leaves while it downloads', async () => {
    const cut = deferred<void>()
    const world = await beginUnread((_req, res) => {
      res.on('close', () => cut.resolve(undefined))
      const more = (): void => {
        while (!res.destroyed && res.write(Buffer.alloc(65_536)));
      }
      res.on('drain', more)
      more()
    })
    const req = begun(world.origin, {})
    req.end()
    const res = await answerTo(req)
    await once(res, 'data')
    req.destroy()
    await cut.promise
    await world.slots.logged('release agent')
    expect(await world.gateway.requestLine(1)).toMatchObject({ status: 200, failure: 'client_gone' })
  })

  it.each([
    ['a length', 'Content-Length: 1000'],
    ['chunks', 'Transfer-Encoding: chunked'],
  ])('an engine that ends in an answer with %s: the connection of the client ends too', async (_name, header) => {
    for (const how of ['end', 'reset'] as const) {
      const engine = await startSocketEngine(({ socket }) => {
        const body = header.startsWith('T') ? '5\r\nhello\r\n5\r\nhe' : 'hello'
        socket.write(`HTTP/1.1 200 OK\r\n${header}\r\n\r\n${body}`, () => {
          if (how === 'end') socket.end()
          else setTimeout(() => socket.resetAndDestroy(), 20)
        })
      })
      const world = await startGatewayAt(engine)
      await expect(ask(world.origin, {})).rejects.toThrow()
      expect(await world.gateway.requestLine(1)).toMatchObject({ failure: 'dispatch.upstream_unavailable' })
    }
  })

  it('an engine that resets an answer without an end of its own: not taken for whole', async () => {
    const engine = await startSocketEngine(({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\nhello', () => setTimeout(() => socket.resetAndDestroy(), 20))
    })
    const world = await startGatewayAt(engine)
    await expect(ask(world.origin, {})).rejects.toThrow()
  })

  it('an engine that goes away while it is sent a body: 502, once', async () => {
    let times = 0
    const world = await beginUnread((req) => {
      times++
      req.once('data', () => req.socket.resetAndDestroy())
    })
    const got = await ask(world.origin, { method: 'POST', body: Buffer.alloc(3_000_000) })
    expect([got.status, times]).toEqual([502, 1])
    expect(JSON.parse(got.body.toString())).toMatchObject({ error: { code: 'dispatch.upstream_unavailable' } })
  })

  it.each([200, 413])(
    'an engine that answers %i while the upload goes on: the client has the answer',
    async (status) => {
      const world = await beginUnread((req, res) => {
        req.resume()
        res.writeHead(status, { 'content-type': 'text/plain' }).end('early')
      })
      for (const headers of [{}, { 'content-length': '4000000' }]) {
        const req = begun(world.origin, { method: 'POST', headers })
        req.write(Buffer.alloc(10_000))
        const got = await read(await answerTo(req))
        expect([got.status, got.body.toString()]).toEqual([status, 'early'])
        req.destroy()
      }
      await world.slots.logged('release agent', 2)
      // What is left of the upload belongs to nobody.
      const next = await ask(world.origin, { method: 'POST', body: Buffer.from('next') })
      expect([next.status, next.body.toString()]).toEqual([status, 'early'])
    },
  )
})

describe('an engine that does not read', () => {
  it('holds the upload back; when it reads, all of it comes', async () => {
    const size = 120_000_000
    const piece = randomBytes(1_000_000)
    const go = deferred<void>()
    const world = await beginUnread((req, res) => {
      const hash = createHash('sha256')
      let bytes = 0
      void go.promise.then(() => {
        req.on('data', (part: Buffer) => {
          hash.update(part)
          bytes += part.length
        })
        req.on('end', () => res.end(`${bytes} ${hash.digest('hex')}`))
      })
    })
    const req = begun(world.origin, { method: 'POST', headers: { 'content-length': String(size) } })
    const answer = answerTo(req).then(read)
    const hash = createHash('sha256')
    let sentBytes = 0
    const sending = (async () => {
      for (; sentBytes < size; sentBytes += piece.length) {
        hash.update(piece)
        if (!req.write(piece)) await once(req, 'drain')
      }
      req.end()
    })()
    let before = -1
    const rests = () => {
      const isSame = sentBytes === before
      before = sentBytes
      return isSame && sentBytes > 0
    }
    await expect.poll(rests, { interval: 300, timeout: 30_000 }).toBe(true)
    // Two connections' worth of the kernel's buffers, and what node holds.
    expect(sentBytes).toBeLessThan(40_000_000)
    go.resolve(undefined)
    await sending
    expect((await answer).body.toString()).toBe(`${size} ${hash.digest('hex')}`)
  })
})

describe('HTTP/1.0 clients', () => {
  const body = randomBytes(200_000)

  it.each(['chunked', 'length', 'close'])('an answer with %s ends with the connection, byte for byte', async (how) => {
    const world = await begin((_req, res) => {
      if (how === 'close') {
        res.shouldKeepAlive = false
        res.useChunkedEncodingByDefault = false
        res.removeHeader('transfer-encoding')
      }
      res.writeHead(200, how === 'length' ? { 'content-length': body.length } : {})
      res.write(body.subarray(0, 70_000))
      res.end(body.subarray(70_000))
    })
    const raw = dial(world.gateway.port, 'GET /upstream/agent/x HTTP/1.0\r\n\r\n')
    const text = await raw.ended
    const at = text.indexOf('\r\n\r\n')
    expect(text.slice(0, at)).toMatch(/^HTTP\/1\.[01] 200 /)
    expect(text.slice(0, at)).not.toMatch(/transfer-encoding/i)
    expect(
      raw
        .bytes()
        .subarray(at + 4)
        .equals(body),
    ).toBe(true)
  })

  it('a body with its length', async () => {
    const world = await begin((_req, res, got) => void res.end(hashOf(got)))
    const head = `POST /upstream/agent/x HTTP/1.0\r\nContent-Length: ${body.length}\r\n\r\n`
    const raw = dial(world.gateway.port, Buffer.concat([Buffer.from(head), body]))
    expect(await raw.ended).toContain(hashOf(body))
    expect(world.seen[0]?.headers['transfer-encoding']).toBeUndefined()
  })
})
