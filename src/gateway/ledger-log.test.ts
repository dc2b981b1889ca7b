import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, it } from 'vitest'
import { requestRecord } from '../../test/support/request-record.ts'
import type { RequestRecord, TokenUsage } from '../contract/request-record.ts'
import { openAppendFile } from '../files/append-file.ts'
import { createRequestLog } from './ledger-log.ts'

function linesOf(records: readonly RequestRecord[], usages: readonly (TokenUsage | null)[] = []): string[] {
  const written: string[] = []
  createRequestLog((text) => void written.push(text))(records, usages)
  expect(written).toHaveLength(1)
  const lines = written[0]?.split('\n') ?? []
  expect(lines.pop()).toBe('')
  return lines
}

it.each<[string, Partial<RequestRecord>, TokenUsage | null, string]>([
  [
    'an answer with usage',
    {},
    { promptTokens: 12, completionTokens: 0, cachedTokens: 4 },
    '"status":200,"bytes":512,"ms":200,"ttft_ms":31,"prompt_tokens":12,"completion_tokens":0,"slot":"agent","reason":"slot_name"',
  ],
  [
    'a client that left',
    { status: 499, bytesSent: 0, firstByteMs: undefined, slot: undefined, reason: undefined, failure: 'client_gone' },
    null,
    '"status":499,"bytes":0,"ms":200,"failure":"client_gone"',
  ],
  [
    'a failure with its text, by somebody',
    { status: 502, failure: 'dispatch.upstream_unavailable', detail: 'say "no"\n', keyId: 'k1', userId: 'ada' },
    null,
    '"status":502,"bytes":512,"ms":200,"ttft_ms":31,"slot":"agent","key_id":"k1","user":"ada","reason":"slot_name","failure":"dispatch.upstream_unavailable","detail":"say \\"no\\"\\n"',
  ],
])('%s', (_, more, usage, facts) => {
  const head = '{"level":30,"time":"2026-01-01T00:00:00.000Z","request_id":"req_1","method":"POST"'
  expect(linesOf([requestRecord(more)], [usage])).toEqual([
    `${head},"route":"/v1/chat/completions",${facts},"msg":"request"}`,
  ])
})

it('says the path as it was asked for, not the route, and not all of a very long one', () => {
  const [odd, long] = linesOf([
    requestRecord({ path: '/v1/nö"pe', route: 'other' }),
    requestRecord({ path: `/upstream/${'a'.repeat(5_000)}` }),
  ]).map((line) => JSON.parse(line) as Record<string, unknown>)
  expect(odd).toMatchObject({ route: '/v1/nö"pe' })
  expect(String(long?.['route']).length).toBe(1_025)
})

it('writes all lines of a batch at once, in order; nothing is built where the level is not written', () => {
  const records = Array.from({ length: 100 }, (_, n) => requestRecord({ requestId: `req_${n}` }))
  const ids = linesOf(records).map((line) => (JSON.parse(line) as { request_id: string }).request_id)
  expect(ids).toEqual(records.map(({ requestId }) => requestId))
  const untouched = new Proxy(requestRecord(), { get: (_, key) => expect.fail(`${String(key)} was read`) })
  createRequestLog(undefined)([untouched], [null])
})

it.each([
  [Date.UTC(2026, 0, 1), 0, '2026-01-01T00:00:00.000Z'],
  [Date.UTC(2026, 0, 1), 7, '2026-01-01T00:00:00.007Z'],
  [Date.UTC(2026, 0, 1), 999, '2026-01-01T00:00:00.999Z'],
  [Date.UTC(2026, 0, 1), 1_000, '2026-01-01T00:00:01.000Z'],
  [Date.UTC(2026, 0, 1), -1, '2025-12-31T23:59:59.999Z'],
  [Date.UTC(2026, 0, 1), 60_090.7, '2026-01-01T00:01:00.090Z'],
])('the time of a line is that of its end: %i + %d ms', (firstMs, moreMs, expected) => {
  const lines = linesOf([requestRecord({ endedMs: firstMs }), requestRecord({ endedMs: firstMs + moreMs })])
  expect(lines.map((line) => (JSON.parse(line) as { time: string }).time)).toEqual([
    '2026-01-01T00:00:00.000Z',
    expected,
  ])
})

it('has the shape of the lines that pino writes beside it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'hal0-lines-'))
  try {
    const file = openAppendFile(join(folder, 'a.log'))
    const log = pino({ base: null, timestamp: pino.stdTimeFunctions.isoTime }, file)
    log.info({ request_id: 'req_0' }, 'a decision')
    createRequestLog((text) => file.write(text))([requestRecord()], [null])
    await file.close()
    const lines = (await readFile(join(folder, 'a.log'), 'utf8')).trimEnd().split('\n')
    const [decision, request] = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    const kinds = (line: Record<string, unknown> = {}) =>
      ['level', 'time', 'request_id', 'msg'].map((key) => typeof line[key])
    expect(kinds(request)).toEqual(kinds(decision))
    expect([decision?.['level'], Object.keys(request ?? {}).at(-1)]).toEqual([request?.['level'], 'msg'])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
