import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { MIB } from '../../kernel/units.ts'
import { badRequest, EngineError } from './rules/engine-error.ts'
import { asObject, type JsonObject } from './rules/read-fields.ts'

const MAX_BODY_BYTES = 64 * MIB

/** The JSON object of a request. Errors: 400 (no JSON object), 413. */
export async function readJson(request: IncomingMessage): Promise<JsonObject> {
  const chunks: Buffer[] = []
  let bytes = 0
  // Not destroyed when the loop is left early: the refusal still has to be sent on this connection.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BODY_BYTES) {
      throw new EngineError(413, 'invalid_request_error', `the request body is larger than ${MAX_BODY_BYTES} bytes`)
    }
    chunks.push(chunk)
  }
  let parsed: unknown
  try {
    parsed = JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch (error) {
    throw badRequest(`the request body is not valid JSON: ${error instanceof Error ? error.message : 'parse error'}`)
  }
  return asObject(parsed)
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body)
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
  })
  response.end(text)
}

export function sendText(response: ServerResponse, text: string): void {
  response.writeHead(200, {
    'content-type': 'text/plain; version=0.0.4; charset=utf-8',
    'content-length': Buffer.byteLength(text),
  })
  response.end(text)
}

/** Aborts when the connection closes before the answer is complete. */
export function clientGone(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  response.once('close', () => {
    if (!response.writableFinished) controller.abort(new Error('the client closed the connection'))
  })
  return controller.signal
}

/** Server-sent events with backpressure. The head goes out with the first event, so that an early failure keeps its status. */
export interface EventStream {
  /** Resolves when there is room for more; rejects when the client left. */
  send(data: unknown): Promise<void>
  /** `data: [DONE]` */
  done(): void
  end(): void
}

export function openEventStream(response: ServerResponse, signal: AbortSignal): EventStream {
  const write = async (text: string): Promise<void> => {
    if (!response.headersSent) {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
    }
    // A client that does not read holds only its own generation: nothing is piled up for it.
    if (!response.write(text)) await once(response, 'drain', { signal })
  }
  return {
    send: (data) => write(`data: ${JSON.stringify(data)}\n\n`),
    done: () => {
      response.write('data: [DONE]\n\n')
    },
    end: () => response.end(),
  }
}

/** Answers a failure: its own status when nothing was sent yet, else one last event. A client that left gets nothing. */
export function sendFailure(response: ServerResponse, thrown: unknown): void {
  if (response.destroyed || response.writableEnded || response.socket?.destroyed === true) return
  const known = thrown instanceof EngineError
  if (!known) process.stderr.write(`request failed: ${thrown instanceof Error ? thrown.stack : String(thrown)}\n`)
  const error = known ? thrown : new EngineError(500, 'server_error', 'the engine failed to answer; see its log')
  if (response.headersSent) response.end(`data: ${JSON.stringify(error.body())}\n\n`)
  else {
    // The rest of an unread body would be taken for the next request.
    if (!response.req.complete) response.setHeader('connection', 'close')
    sendJson(response, error.status, error.body())
  }
}
