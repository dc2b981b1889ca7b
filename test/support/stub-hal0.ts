import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A request as the stub saw it. */
export interface SeenRequest {
  /** `POST /api/lanes/gpu0/manual`, with the query. */
  readonly line: string
  readonly authorization: string | undefined
  /** Parsed; undefined = none. */
  readonly body: unknown
}

/** What a route answers: a body with 200, or `[status, body]`; a function is asked each time for a body. */
export type StubAnswer = object | readonly [status: number, body: unknown] | (() => object)

export interface StubHal0 {
  readonly url: string
  readonly seen: SeenRequest[]
  /** By `METHOD /path` without the query; may be changed at any time. */
  readonly answers: Map<string, StubAnswer>
  stop(): Promise<void>
}

/** A server on a free loopback port that answers what it is told, and writes down what it was asked. Other routes are 404. */
export async function startStubHal0(answers: Readonly<Record<string, StubAnswer>> = {}): Promise<StubHal0> {
  const seen: SeenRequest[] = []
  const table = new Map(Object.entries(answers))
  const server = createServer((request, response) => {
    const { method = '', url = '' } = request
    let text = ''
    request.setEncoding('utf8').on('data', (chunk: string) => void (text += chunk))
    request.on('end', () => {
      const body: unknown = text === '' ? undefined : JSON.parse(text)
      seen.push({ line: `${method} ${url}`, authorization: request.headers.authorization, body })
      const answer = table.get(`${method} ${url.split('?')[0]}`) ?? [404, errorOf('not_found', `no ${method} ${url}`)]
      const body200 = typeof answer === 'function' ? answer() : answer
      const [status, content]: readonly [number, unknown] = isPair(answer) ? answer : [200, body200]
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(content))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    answers: table,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** The one error body. */
export function errorOf(code: string, message: string, details: Readonly<Record<string, unknown>> = {}): object {
  return {
    error: { message, type: 'invalid_request_error', param: null, code, details: { remedy: 'Mend it.', ...details } },
  }
}

function isPair(answer: StubAnswer): answer is readonly [number, unknown] {
  return Array.isArray(answer)
}
