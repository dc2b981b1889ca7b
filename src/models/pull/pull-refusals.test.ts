import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { StandInFile, StandInHubOptions } from '../../../test/support/hub/hub.ts'
import { type PullHarness, startPullHarness, until } from '../../../test/support/hub/pull-harness.ts'
import type { Trick } from '../../../test/support/hub/send-file.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { GIB, HOUR_MS, MIB } from '../../kernel/units.ts'
import type { PullsDeps } from './create-pulls.ts'

const REPO = 'org/name'
const FILE = 'tiny-Q4_K_M.gguf'
const SIZE = 3 * MIB

let harness: PullHarness | undefined
afterEach(async () => {
  await harness?.close()
  harness = undefined
})

const made = (sizeBytes: number, seed = 1): StandInFile => ({ content: { sizeBytes, seed } })

async function begin(
  files: Record<string, StandInFile> = { [FILE]: made(SIZE) },
  options: Partial<StandInHubOptions> = {},
  deps: Partial<PullsDeps> & { token?: string } = {},
): Promise<PullHarness> {
  harness = await startPullHarness({ repos: { [REPO]: files }, ...options }, deps)
  return harness
}

async function errorOf(promise: Promise<unknown>): Promise<Hal0Error> {
  const thrown: unknown = await promise.then(
    () => new Error('it resolved'),
    (cause: unknown) => cause,
  )
  if (thrown instanceof Hal0Error) return thrown
  throw thrown
}

describe('a pull that cannot begin', () => {
  it.each([
    { name: 'no repository', id: 'm', request: {}, code: 'validation.invalid', text: /m names no hf_repo/ },
    {
      name: 'unknown repository',
      id: 'm',
      request: { repo: 'org/other' },
      code: 'validation.invalid',
      text: /no repository org\/other/,
    },
    {
      name: 'unknown revision',
      id: 'm',
      request: { repo: REPO, revision: 'v9' },
      code: 'validation.invalid',
      text: /revision v9/,
    },
    {
      name: 'unknown file',
      id: 'm',
      request: { repo: REPO, file: 'tini.gguf' },
      code: 'validation.invalid',
      text: /no file tini\.gguf \(there: tiny-Q4_K_M\.gguf\)/,
    },
    {
      name: 'unknown quant',
      id: 'm',
      request: { repo: REPO, quant: 'Q2_K' },
      code: 'validation.invalid',
      text: /no model in Q2_K \(there: tiny-Q4_K_M\.gguf\)/,
    },
    {
      name: 'a repository outside the store',
      id: 'm',
      request: { repo: '../..' },
      code: 'validation.invalid',
      text: /no repository/,
    },
    {
      name: 'a revision that climbs',
      id: 'm',
      request: { repo: REPO, revision: '..' },
      code: 'validation.invalid',
      text: /no branch/,
    },
    {
      name: 'an id of another model',
      id: 'taken',
      request: { repo: REPO },
      code: 'model.exists',
      text: /taken is that of another model/,
    },
  ])('$name: $code', async ({ id, request, code, text }) => {
    const h = await begin()
    h.registered.set('taken', { path: '/elsewhere.gguf' })
    const error = await errorOf(h.pulls.start(id, request))
    expect(error.code).toBe(code)
    expect(error.message).toMatch(text)
    // It never was a pull.
    expect(h.pulls.list()).toEqual([])
    expect(h.hub.fetches).toEqual([])
    expect(await h.storedFiles()).toEqual([])
    expect(h.events).toEqual([])
  })

  it.each(['../evil.gguf', '/evil.gguf', 'a/../../evil.gguf', 'a//b.gguf', 'a\\b.gguf', 'a\u0000b.gguf', './a.gguf'])(
    'a hub that lists %j is not believed',
    async (path) => {
      const h = await begin({ [path]: made(10) })
      expect(await errorOf(h.pulls.start('m', { repo: REPO }))).toMatchObject({
        code: 'validation.invalid',
        param: 'file',
      })
      expect(await h.storedFiles()).toEqual([])
    },
  )

  it('a link in the store is not followed', async () => {
    const h = await begin()
    const outside = join(h.store, '..', 'outside')
    await mkdir(outside)
    await mkdir(h.store, { recursive: true })
    await symlink(outside, join(h.store, 'org--name'))
    const error = await errorOf(h.pulls.start('m', { repo: REPO }))
    expect(error).toMatchObject({ code: 'validation.invalid' })
    expect(error.message).toMatch(/org--name is a link/)
  })

  it.each([
    { token: undefined, text: /gated, private, or does not exist.*restricted/, remedy: /HF_TOKEN set/ },
    {
      token: 'wrong',
      text: /gated or private for this token.*restricted/,
      remedy: /licence at .*org\/name with the account/,
    },
  ])('a gated repository with token $token', async ({ token, text, remedy }) => {
    const h = await begin(undefined, { gatedBy: 'right' }, token === undefined ? {} : { token })
    const error = await errorOf(h.pulls.start('m', { repo: REPO }))
    expect(error.code).toBe('hub.unreachable')
    expect(error.message).toMatch(text)
    expect(error.details?.['remedy']).toMatch(remedy)
  })

  it('a hub that is not there is named with the reason, after three attempts', async () => {
    const h = await begin()
    await h.hub.close()
    const error = await errorOf(h.pulls.start('m', { repo: REPO }))
    expect(error.code).toBe('hub.unreachable')
    expect(error.message).toMatch(/cannot fetch org\/name from http:\/\/127\.0\.0\.1:\d+: .*ECONNREFUSED/)
    expect(h.clock.passedMs).toEqual([1000, 2000])
  })

  it.each([
    { name: 'an error page', trick: { status: 500, body: '<html>' }, text: /HTTP 500/, waitsMs: [1000, 2000] },
    {
      name: 'too many requests',
      trick: { status: 429, headers: { 'retry-after': '9' } },
      text: /HTTP 429/,
      waitsMs: [9000, 9000],
    },
    {
      name: 'a long ban',
      trick: { status: 429, headers: { 'retry-after': '900' } },
      text: /back in 900 s/,
      waitsMs: [],
    },
    { name: 'no list', trick: { status: 200, body: '{"a":1}' }, text: /not in the form/, waitsMs: [] },
    { name: 'no JSON', trick: { status: 200, body: 'hello' }, text: /JSON/, waitsMs: [1000, 2000] },
    {
      name: 'a broken length',
      trick: { status: 400, body: '{"error":"bad\\nthing"}' },
      text: /HTTP 400: bad/,
      waitsMs: [],
    },
  ])('a list that is $name', async ({ trick, text, waitsMs }) => {
    const h = await begin()
    h.hub.apiTricks.push(trick, trick, trick)
    const error = await errorOf(h.pulls.start('m', { repo: REPO }))
    expect(error.code).toBe('hub.unreachable')
    expect(error.message).toMatch(text)
    expect(h.clock.passedMs).toEqual(waitsMs)
  })

  it('too little space: need and free are told, parts count as there', async () => {
    const h = await begin()
    h.disk.freeBytes = GIB + SIZE - 1
    const error = await errorOf(h.pulls.start('m', { repo: REPO }))
    expect(error).toMatchObject({
      code: 'model.insufficient_disk',
      details: { need_bytes: GIB + SIZE, free_bytes: GIB + SIZE - 1 },
    })
    h.disk.freeBytes++
    h.hub.tricks.push({ kind: 'stall', bytes: MIB })
    await h.pulls.start('m', { repo: REPO })
    await until('bytes came', () => h.pulls.show('m').done_bytes === MIB)
    await h.pulls.cancel('m')
    h.disk.freeBytes = GIB + SIZE - MIB
    await h.pulls.start('m', { repo: REPO })
    expect(await h.finished('m')).toMatchObject({ state: 'done' })
  })
})

describe('a pull that fails on its way', () => {
  const etags: readonly Trick[] = Array.from({ length: 12 }, (_, n) => ({ kind: 'etag', etag: `e${n}`, cutBytes: MIB }))
  it.each<{ name: string; tricks: readonly Trick[]; always?: Trick; text: RegExp; waitsMs: readonly number[] }>([
    {
      name: 'nothing comes',
      tricks: [],
      always: { kind: 'cut', bytes: 0 },
      text: /tiny-Q4_K_M\.gguf from http/,
      waitsMs: [1000, 2000, 4000, 8000, 16_000],
    },
    {
      name: 'HTTP 500',
      tricks: [],
      always: { kind: 'status', status: 500 },
      text: /HTTP 500/,
      waitsMs: [1000, 2000, 4000, 8000, 16_000],
    },
    {
      name: 'a wrong length',
      tricks: [],
      always: { kind: 'say_length', bytes: 5 },
      text: /said to have 5 bytes, the hub lists 3145728/,
      waitsMs: [1000, 2000, 4000, 8000, 16_000],
    },
    {
      name: 'a long ban',
      tricks: [{ kind: 'status', status: 503, headers: { 'retry-after': '301' } }],
      text: /HTTP 503/,
      waitsMs: [],
    },
    {
      // Each attempt brings bytes, and none brings it further (but for what the cut leaves unread).
      name: 'no Range, and a cut at the same place',
      tricks: [],
      always: { kind: 'ignore_range', cutBytes: MIB },
      text: /cannot fetch/,
      waitsMs: [1000, 2000, 4000, 8000, 16_000],
    },
    {
      name: 'always another ETag',
      tricks: etags,
      text: /ETag changed/,
      waitsMs: [250, 1000, 250, 1000, 250, 1000, 250, 1000, 250, 1000, 250],
    },
  ])('$name: hub.unreachable after a bounded number of attempts', async ({ tricks, always, text, waitsMs }) => {
    const h = await begin()
    h.hub.tricks.push(...tricks)
    h.hub.always = always
    await h.pulls.start('m', { repo: REPO })
    const job = await h.finished('m')
    expect(job).toMatchObject({
      state: 'failed',
      error: { code: 'hub.unreachable', message: expect.stringMatching(text) },
    })
    expect(h.clock.passedMs.slice(-waitsMs.length || Infinity)).toEqual(waitsMs)
    expect([...h.registered]).toEqual([])
    expect(h.events).toMatchObject([
      { type: 'model.pull_failed', severity: 'error', data: { code: 'hub.unreachable' } },
    ])
  })

  it.each([404, 403])('HTTP %i of a file that was listed is final', async (status) => {
    const h = await begin()
    h.hub.always = { kind: 'status', status }
    await h.pulls.start('m', { repo: REPO })
    const code = status === 404 ? 'validation.invalid' : 'hub.unreachable'
    expect(await h.finished('m')).toMatchObject({ state: 'failed', error: { code } })
    expect(h.hub.fetches).toHaveLength(1)
  })

  it('a registry that refuses is told in the job; the file stays', async () => {
    const refuse = (): Promise<void> => Promise.reject(Hal0Error.of('config.invalid', 'models.toml: line 3'))
    const h = await begin(undefined, {}, { register: refuse })
    await h.pulls.start('m', { repo: REPO })
    expect(await h.finished('m')).toMatchObject({
      state: 'failed',
      error: { code: 'config.invalid', message: 'm was fetched, but cannot be registered: models.toml: line 3' },
    })
    expect(await h.storedFiles()).toEqual([`org--name/${FILE}`])
  })

  it('a final name that is a folder is told with its path', async () => {
    const h = await begin()
    await mkdir(join(h.store, 'org--name', FILE), { recursive: true })
    await writeFile(join(h.store, 'org--name', FILE, 'x'), '')
    await h.pulls.start('m', { repo: REPO })
    expect(await h.finished('m')).toMatchObject({
      state: 'failed',
      error: { code: 'internal', message: expect.stringContaining(FILE) },
    })
  })
})

describe('several pulls', () => {
  const both = { [FILE]: made(SIZE), 'other-Q8_0.gguf': made(SIZE, 2) }

  it('one per model, and one per file', async () => {
    const h = await begin(both)
    h.hub.always = { kind: 'stall', bytes: MIB }
    await h.pulls.start('a', { repo: REPO })
    expect(await errorOf(h.pulls.start('a', { repo: REPO }))).toMatchObject({
      code: 'pull.in_progress',
      details: { model: 'a' },
    })
    expect(await errorOf(h.pulls.start('b', { repo: REPO }))).toMatchObject({
      code: 'pull.in_progress',
      details: { model: 'a', file: FILE },
    })
    await h.pulls.start('b', { repo: REPO, quant: 'Q8_0' })
    expect(h.pulls.list().map(({ id }) => id)).toEqual(['b', 'a'])
    await h.pulls.cancel('a')
    await h.pulls.cancel('b')
    h.hub.always = undefined
    // A cancelled one no longer holds the file.
    await h.pulls.start('b', { repo: REPO })
    expect(await h.finished('b')).toMatchObject({ state: 'done' })
  })

  it('two that begin at once: one', async () => {
    const h = await begin()
    const begun = await Promise.allSettled([
      h.pulls.start('a', { repo: REPO }),
      h.pulls.start('a', { repo: REPO }),
      h.pulls.start('b', { repo: REPO }),
    ])
    expect(begun.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected', 'rejected'])
  })

  it('one that does not begin leaves the last finished one of its model in the list', async () => {
    const h = await begin()
    await h.pulls.start('m', { repo: REPO })
    await h.finished('m')
    await errorOf(h.pulls.start('m', { repo: REPO, quant: 'Q2_K' }))
    expect(h.pulls.show('m')).toMatchObject({ state: 'done' })
  })
})

describe('cancel', () => {
  it('while the hub is asked: the pull is cancelled, nothing was fetched', async () => {
    const h = await begin()
    const starting = h.pulls.start('m', { repo: REPO })
    const [cancelled, started] = await Promise.all([h.pulls.cancel('m'), starting])
    expect(cancelled).toMatchObject({ state: 'cancelled', total_bytes: null })
    expect(started).toMatchObject({ state: 'cancelled' })
    expect(h.hub.fetches).toEqual([])
  })

  it('while it waits for the next attempt', async () => {
    const h = await begin()
    h.hub.always = { kind: 'status', status: 503, headers: { 'retry-after': '200' } }
    await h.pulls.start('m', { repo: REPO })
    await until('it waits', () => h.clock.longWaitsMs.includes(200_000))
    expect(await h.pulls.cancel('m')).toMatchObject({ state: 'cancelled' })
    expect(h.clock.longWaitsMs).toEqual([HOUR_MS])
    expect(h.events).toEqual([])
  })

  it('of a pull that never was: model.not_found', async () => {
    const h = await begin()
    expect(await errorOf(h.pulls.cancel('x'))).toMatchObject({ code: 'model.not_found' })
    expect(() => h.pulls.show('x')).toThrow(/no pull of x/)
  })
})

it('close leaves no timer, and refuses new pulls', async () => {
  const h = await begin()
  h.hub.always = { kind: 'stall', bytes: MIB }
  await h.pulls.start('m', { repo: REPO })
  await h.pulls.close()
  expect(h.pulls.show('m')).toMatchObject({ state: 'cancelled' })
  expect(h.clock.longWaitsMs).toEqual([])
  await expect(h.pulls.start('m', { repo: REPO })).rejects.toThrow(/stopping/)
})
