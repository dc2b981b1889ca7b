import { type Agent, type ClientRequest, type IncomingMessage, request } from 'node:http'
import type { ChaosPlan } from './chaos-plan.ts'

/** How a request ended for its client. */
export type ChaosEnd =
  | {
      readonly kind: 'answered'
      readonly status: number
      readonly headers: IncomingMessage['headers']
      readonly rawHeaders: readonly string[]
      readonly text: string
      /** False = the connection broke before the answer was complete. */
      readonly isWhole: boolean
    }
  /** By plan. */
  | { readonly kind: 'left' }
  /** The connection ended without an answer. */
  | { readonly kind: 'broken'; readonly why: string }
  | { readonly kind: 'hung' }

/** No request may take longer; far beyond every wait that the daemon knows here. */
const WATCHDOG_MS = 90_000

/** Makes one request as planned; always resolves, the watchdog sees to it. */
export function runPlan(origin: string, plan: ChaosPlan, agent: Agent): Promise<ChaosEnd> {
  return new Promise((resolve) => {
    const { manner, body } = plan
    const req = request(origin + plan.path, {
      method: plan.method,
      agent,
      headers: {
        'x-request-id': plan.id,
        ...(body === undefined ? {} : { 'content-type': plan.contentType, 'content-length': body.length }),
      },
    })
    const end = (how: ChaosEnd): void => {
      clearTimeout(watchdog)
      resolve(how)
      if (how.kind !== 'answered') req.destroy()
    }
    const leave = (): void => end({ kind: 'left' })
    const watchdog = setTimeout(() => end({ kind: 'hung' }), WATCHDOG_MS)
    req.on('error', (error) => end({ kind: 'broken', why: String(error) }))
    req.once('response', (res) => readAnswer(res, plan, end))
    if (manner.kind === 'leaves_in_body' && body !== undefined) return leaveInBody(req, body, leave)
    // Its head has to have reached the kernel: hal0 counts what it has heard of.
    if (manner.kind === 'leaves_after') req.once('finish', () => setTimeout(leave, manner.afterMs))
    req.end(body)
  })
}

function leaveInBody(req: ClientRequest, body: Buffer, leave: () => void): void {
  req.write(body.subarray(0, Math.max(1, body.length >> 1)), leave)
}

function readAnswer(res: IncomingMessage, { manner }: ChaosPlan, end: (how: ChaosEnd) => void): void {
  const pieces: Buffer[] = []
  res.on('data', (piece: Buffer) => {
    pieces.push(piece)
    if (pieces.length > 1) return
    if (manner.kind === 'leaves_in_answer') return end({ kind: 'left' })
    if (manner.kind !== 'pauses') return
    res.pause()
    setTimeout(() => res.resume(), manner.forMs)
  })
  res.on('error', () => {})
  res.once('close', () =>
    end({
      kind: 'answered',
      status: res.statusCode ?? 0,
      headers: res.headers,
      rawHeaders: res.rawHeaders,
      text: Buffer.concat(pieces).toString('utf8'),
      isWhole: res.complete,
    }),
  )
}
