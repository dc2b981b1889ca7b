import { describe, expect, it } from 'vitest'
import { arrive, incoming, inPieces, turn } from '../../../test/support/body-world.ts'
import { CountingBudget } from '../../../test/support/counting-budget.ts'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import type { Hal0Error } from '../../kernel/errors.ts'
import { statusOfBodyError } from './body-errors.ts'
import { ClientSilence, LEAST_SENT_BYTES } from './client-silence.ts'
import { readAsked } from './read-asked.ts'
import { type JsonBody, type ReceiveOptions, receiveJson } from './read-body.ts'

const text = JSON.stringify({
  model: 'größer',
  messages: [{ role: 'user', content: 'x'.repeat(100_000) }],
  stream: true,
})

function begin(headers: Readonly<Record<string, string>>, options: Partial<ReceiveOptions> = {}) {
  const req = incoming(headers)
  const outcomes: (Hal0Error | JsonBody)[] = []
  const receiving = receiveJson({ req }, { limitBytes: 1e6, ...options }, (error, body) => outcomes.push(error ?? body))
  return { req, outcomes, receiving }
}

function bodyOf(outcome: Hal0Error | JsonBody | undefined): JsonBody {
  if (outcome === undefined || outcome instanceof Error) throw outcome ?? new Error('no outcome')
  return outcome
}

describe('a body', () => {
  it('in one piece is neither copied nor waited for', async () => {
    const piece = Buffer.from(text)
    const { req, outcomes } = begin({ 'content-length': String(piece.length) })
    await arrive(req, [piece], false)
    const body = bodyOf(outcomes[0])
    expect(body.pieces[0]).toBe(piece)
    expect(body.asked).toMatchObject({ model: { value: 'größer' }, stream: true })
    req.push(null)
    await turn()
    expect(outcomes).toHaveLength(1)
  })

  it.each([
    [1_000_000, false],
    [1_000_000, true],
    [40_000, true],
    [997, true],
    [997, false],
  ])('in pieces of %i (announced: %s), behind a byte order mark or not', async (size, announced) => {
    for (const mark of ['', '\ufeff']) {
      const bytes = Buffer.from(mark + text)
      const { req, outcomes } = begin(announced ? { 'content-length': String(bytes.length) } : {})
      await arrive(req, inPieces(bytes, [1, size]))
      await expect.poll(() => outcomes.length).toBe(1)
      const body = bodyOf(outcomes[0])
      expect(Buffer.concat(body.pieces).toString()).toBe(text)
      expect(body.sizeBytes).toBe(Buffer.byteLength(text))
      expect(body.asked.model).toMatchObject({ value: 'größer' })
    }
  })

  it.each([
    ['empty', {}, '', 'request.invalid', /empty/],
    ['too long, announced', { 'content-length': '1000001' }, undefined, 'request.too_large', /larger than/],
    ['too long, in chunks', {}, `{"a":"${'x'.repeat(1e6)}"}`, 'request.too_large', /larger than/],
    ['compressed', { 'content-encoding': 'gzip' }, undefined, 'request.invalid', /uncompressed/],
    ['coded', { 'transfer-encoding': 'gzip, chunked' }, undefined, 'request.invalid', /chunked alone/],
    ['no JSON', {}, '{"a":1,\n"b" 2}', 'request.invalid', /line 2, column 5: expected ':'/],
    ['no JSON behind a mark', {}, '\ufeff{"a" 1}', 'request.invalid', /line 1, column 6/],
    ['two marks', { 'content-length': '19' }, '\ufeff\ufeff{"model":"a"}', 'request.invalid', /line 1, column 1/],
    ['cut off', {}, '{"a":', 'request.invalid', /ends too early/],
    ['a model that is no string', {}, '{"model":1}', 'request.invalid', /not a string/],
  ])('%s: refused once, nothing is held', async (_name, headers, body, code, message) => {
    for (const size of [3, 1e7]) {
      const budget = new CountingBudget(() => 1e9)
      const { req, outcomes } = begin(headers, { budget })
      if (body !== undefined)
        await arrive(req, inPieces(Buffer.from(body), [size === 3 && body.length > 1e5 ? 7777 : size]))
      await expect.poll(() => outcomes.length).toBe(1)
      expect(outcomes[0]).toMatchObject({ code, message: expect.stringMatching(message) as string })
      expect(budget.heldBytes).toBe(0)
    }
  })

  it('that is cancelled says nothing and holds nothing', async () => {
    const budget = new CountingBudget(() => 1e9)
    const { req, outcomes, receiving } = begin({}, { budget })
    await arrive(req, [Buffer.from('{"a":'), Buffer.from('"b')], false)
    expect(budget.heldBytes).toBe(64 * 1024)
    receiving.cancel()
    receiving.cancel()
    await arrive(req, [Buffer.from('"}')])
    await turn()
    expect(outcomes).toEqual([])
    expect(budget.heldBytes).toBe(0)
  })
})

describe('memory for all bodies', () => {
  const sizeBytes = Buffer.byteLength(text)
  const length = { 'content-length': String(sizeBytes) }

  it('is held by what has come, not by what is announced; given back once', async () => {
    const budget = new CountingBudget(() => 150_000)
    const drips = [1, 2, 3, 4].map(() => begin(length, { budget }))
    expect(budget.heldBytes).toBe(0)
    const whole = begin(length, { budget })
    await arrive(whole.req, [Buffer.from(text)])
    expect(budget.heldBytes).toBe(sizeBytes)
    const body = bodyOf(whole.outcomes[0])
    body.release()
    body.release()
    expect(budget.heldBytes).toBe(0)
    for (const { receiving } of drips) receiving.cancel()
    expect(budget.heldBytes).toBe(0)
  })

  it.each([
    ['announced', length, sizeBytes],
    ['chunked', {}, 131_072],
  ])('is taken in steps, at most what can come (%s)', async (_name, headers, mostBytes) => {
    const budget = new CountingBudget(() => 150_000)
    const { req, receiving } = begin(headers, { budget })
    const pieces = inPieces(Buffer.from(text), [9_000])
    const held = new Set<number>()
    for (const piece of pieces.slice(0, -1)) {
      await arrive(req, [piece], false)
      held.add(budget.heldBytes)
    }
    expect([...held]).toEqual([65_536, mostBytes])
    receiving.cancel()
    expect(budget.heldBytes).toBe(0)
  })

  it('that is gone is 429: at once for what is announced, else when it is needed', async () => {
    const budget = new CountingBudget(() => 150_000)
    const first = begin(length, { budget })
    await arrive(first.req, [Buffer.from(text)])
    expect(begin(length, { budget }).outcomes[0]).toMatchObject({ code: 'dispatch.queue_full', retryAfterS: 5 })
    const chunked = begin({}, { budget })
    await arrive(chunked.req, inPieces(Buffer.from(text), [9_000]))
    expect(chunked.outcomes[0]).toMatchObject({ code: 'dispatch.queue_full' })
    expect(budget.heldBytes).toBe(sizeBytes)
  })

  it.each([
    ['the memory for all', 150_000, 'body_memory_bytes'],
    ['the limit of one body', 2e6, 'json_limit_bytes'],
  ])('%s may be what a body is too large for: the 413 says which', async (_name, memoryBytes, key) => {
    const limitBytes = Math.min(memoryBytes, 1e6)
    const tooLong = { code: 'request.too_large', details: { limit_bytes: limitBytes } }
    const budget = new CountingBudget(() => memoryBytes)
    const announced = begin({ 'content-length': String(limitBytes + 1) }, { budget })
    const chunked = begin({}, { budget })
    await arrive(chunked.req, inPieces(Buffer.from(`{"a":"${'x'.repeat(limitBytes)}"}`), [60_000]), false)
    for (const { outcomes } of [announced, chunked]) {
      expect(outcomes[0]).toMatchObject(tooLong)
      expect((outcomes[0] as Hal0Error).details?.['remedy']).toContain(key)
    }
    expect(budget.heldBytes).toBe(0)
  })
})

describe('a client that falls silent', () => {
  it('is told 408 after its time, not before; no timer is left', async () => {
    const clock = new ManualClock()
    const silence = new ClientSilence(clock, () => 8_000)
    const { req, outcomes } = begin({ 'content-length': '5000' }, { silence })
    await arrive(req, [Buffer.from('{"a":1')], false)
    await clock.advance(7_999)
    await arrive(req, [Buffer.from(' '.repeat(LEAST_SENT_BYTES))], false)
    await clock.advance(8_000)
    expect(outcomes).toEqual([])
    await clock.advance(1_001)
    const [error] = outcomes
    expect(error).toMatchObject({ code: 'request.invalid', message: expect.stringContaining('8 s') as string })
    expect(error instanceof Error && statusOfBodyError(error)).toBe(408)
    expect(clock.pendingTimers).toBe(0)
  })

  it.each([
    ['so slowly that it would hold memory for ever', LEAST_SENT_BYTES / 16, true],
    ['slowly, but enough', LEAST_SENT_BYTES / 8, false],
  ])('is one that sends %s', async (_name, perSecondBytes, isEnded) => {
    const clock = new ManualClock()
    const silence = new ClientSilence(clock, () => 8_000)
    const { req, outcomes, receiving } = begin({ 'content-length': '100000' }, { silence })
    await arrive(req, [Buffer.from('{')], false)
    for (let second = 0; second < 40; second++) {
      await arrive(req, [Buffer.from(' '.repeat(perSecondBytes))], false)
      await clock.advance(1_000)
    }
    expect(outcomes.length).toBe(isEnded ? 1 : 0)
    receiving.cancel()
  })

  it('a limit of 0 is none, and close leaves no timer', async () => {
    const clock = new ManualClock()
    begin({}, { silence: new ClientSilence(clock, () => 0) })
    expect(clock.pendingTimers).toBe(0)
    const silence = new ClientSilence(clock, () => 1_000)
    const { outcomes } = begin({}, { silence })
    expect(clock.pendingTimers).toBe(1)
    silence.close()
    expect(clock.pendingTimers).toBe(0)
    expect(outcomes).toEqual([])
  })
})

it('as a promise: in one piece, or rejected when the client leaves', async () => {
  const req = incoming({})
  const read = readAsked({ req, signal: new AbortController().signal }, { limitBytes: 1e6 })
  await arrive(req, inPieces(Buffer.from(text), [5000]))
  expect((await read).body.toString()).toBe(text)
  const leaving = new AbortController()
  const left = readAsked({ req: incoming({}), signal: leaving.signal }, { limitBytes: 1e6 })
  leaving.abort('gone')
  await expect(left).rejects.toBe('gone')
})
