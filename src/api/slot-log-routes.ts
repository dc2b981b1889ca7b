import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi'
import { DEFAULT_LOG_LINES, type LogLine, MAX_LOG_LINES, slotLogsSchema } from '../contract/logs.ts'
import type { Resync } from '../contract/resync.ts'
import { KIB, MIB } from '../kernel/units.ts'
import { readLogTail } from '../runtimes/process/log-file.ts'
import { requireRow } from '../slots/slot-manager.ts'
import { type ApiContext, type ApiEnv, isHead } from './api-context.ts'
import { followLog } from './follow-log.ts'
import { mayRead } from './gate.ts'
import { numberParam, slotNameParams } from './query.ts'
import { errorResponse, eventStream } from './responses.ts'
import { openSse, type SseChannel } from './sse-channel.ts'

/** How much of the log's end is searched for the lines; engines' lines are rarely longer than 1 KiB. */
const MIN_TAIL_BYTES = 256 * KIB
const MAX_TAIL_BYTES = 8 * MIB

const tailRoute = createRoute({
  method: 'get',
  path: '/api/slots/{name}/logs',
  tags: ['slots'],
  summary: "The last lines of the engine's own output",
  description: 'JSON, or plain text with `Accept: text/plain`.',
  request: { params: slotNameParams, query: z.strictObject({ lines: linesParam(1) }) },
  responses: {
    200: {
      description: 'Oldest first; empty when the engine has written nothing yet.',
      content: { 'application/json': { schema: slotLogsSchema }, 'text/plain': { schema: z.string() } },
    },
    ...errorResponse,
  },
})

const streamRoute = createRoute({
  method: 'get',
  path: '/api/slots/{name}/logs/stream',
  tags: ['slots'],
  summary: "The engine's own output as it comes",
  description:
    '`event: line` with `{line}`: first the last `lines`, then each new one. `event: resync` (`rotated`) when the file was cut.',
  request: { params: slotNameParams, query: z.strictObject({ lines: linesParam(0) }) },
  responses: {
    200: { description: 'text/event-stream', content: { 'text/event-stream': eventStream } },
    ...errorResponse,
  },
})

function linesParam(min: number) {
  const description = `How many of the last lines; default ${DEFAULT_LOG_LINES}.`
  return numberParam({ min, max: MAX_LOG_LINES, whole: true, description }).optional()
}

/** Errors: `slot.not_found`. Source: SPEC 2 (log file), 16. */
export function addSlotLogRoutes(app: OpenAPIHono<ApiEnv>, context: ApiContext): void {
  const { slots, clock, closing, log } = context

  app.openapi(tailRoute, async (c) => {
    const { name } = c.req.valid('param')
    requireRow(slots, name)
    const count = c.req.valid('query').lines ?? DEFAULT_LOG_LINES
    const bytes = Math.min(MAX_TAIL_BYTES, Math.max(MIN_TAIL_BYTES, count * KIB))
    const lines = (await readLogTail(slots.logPath(name), bytes)).slice(-count)
    if (wantsText(c.req.header('accept'))) return c.text(lines.map((line) => `${line}\n`).join(''), 200)
    return c.json({ name, lines }, 200)
  })

  app.openapi(streamRoute, (c) => {
    const { name } = c.req.valid('param')
    requireRow(slots, name)
    const channel = openSse({ clock, closing, headersOnly: isHead(c), mayRead: mayRead(c) })
    const backlogLines = c.req.valid('query').lines ?? DEFAULT_LOG_LINES
    if (!channel.ended.aborted) {
      pump(slots.logPath(name), backlogLines, channel).catch((thrown: unknown) => {
        log.error({ slot: name, err: thrown }, 'following the log of a slot failed')
        channel.end()
      })
    }
    return channel.response
  })

  /** Reads no further while the reader has not taken what it was given: the file keeps it. */
  async function pump(path: string, backlogLines: number, channel: SseChannel): Promise<void> {
    for await (const piece of followLog(path, { clock, backlogLines, signal: channel.ended })) {
      if (piece.kind === 'rotated') channel.send({ event: 'resync', data: { reason: 'rotated' } satisfies Resync })
      else channel.sendBacklog(() => sendLines(channel, piece.lines))
      await channel.drained()
    }
  }
}

function sendLines(channel: SseChannel, lines: readonly string[]): void {
  for (const line of lines) channel.send({ event: 'line', data: { line } satisfies LogLine })
}

/** JSON unless plain text is asked for by name: every other route speaks JSON. */
function wantsText(accept: string | undefined): boolean {
  return accept !== undefined && /\btext\/plain\b/i.test(accept) && !/\bapplication\/json\b/i.test(accept)
}
