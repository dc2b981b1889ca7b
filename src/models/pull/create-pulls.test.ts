import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { type StandInFile, StandInHub, type StandInHubOptions } from '../../../test/support/hub/hub.ts'
import { type PullHarness, startPullHarness, until } from '../../../test/support/hub/pull-harness.ts'
import type { Trick } from '../../../test/support/hub/send-file.ts'
import { MIB } from '../../kernel/units.ts'
import type { PullsDeps } from './create-pulls.ts'
import { hubSettings } from './hub-settings.ts'

const REPO = 'org/name'
const FILE = 'tiny-Q4_K_M.gguf'
const TARGET = `org--name/${FILE}`
const SIZE = 3 * MIB

let harness: PullHarness | undefined
afterEach(async () => {
  await harness?.close()
  harness = undefined
})

const made = (sizeBytes: number, more: Partial<StandInFile> = {}, seed = 1): StandInFile => ({
  content: { sizeBytes, seed },
  ...more,
})

async function begin(
  files: Record<string, StandInFile> = { [FILE]: made(SIZE) },
  options: Partial<StandInHubOptions> = {},
  deps: Partial<PullsDeps> & { token?: string } = {},
): Promise<PullHarness> {
  harness = await startPullHarness({ repos: { [REPO]: files }, ...options }, deps)
  return harness
}

async function sha256On(path: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex')
}

describe('a pull', () => {
  it('of 300 MB that is interrupted five times ends with the right sha256', async () => {
    const h = await begin({ [FILE]: made(300 * MIB) })
    h.hub.tricks.push(...[40, 55, 1, 70, 33].map((mib): Trick => ({ kind: 'cut', bytes: mib * MIB + 17 })))
    await h.pulls.start('m', { repo: REPO })
    const job = await h.finished('m')
    expect(job).toMatchObject({ state: 'done', resumes: 5, done_bytes: 300 * MIB, total_bytes: 300 * MIB, error: null })
    expect(await sha256On(join(h.store, TARGET))).toBe(h.hub.sha256(REPO, FILE))
    expect(await h.storedFiles()).toEqual([TARGET])
    // Each attempt went on where the one before ended.
    const froms = h.hub.fetches.map(({ headers }) => Number(/\d+/.exec(String(headers['range'] ?? 'bytes=0-'))?.[0]))
    expect(froms).toHaveLength(6)
    expect(froms).toEqual(froms.toSorted((a, b) => a - b))
    expect(froms[5]).toBeGreaterThan(150 * MIB)
  }, 120_000)

  it('registers what it fetched, with the licence, and says so', async () => {
    const h = await begin(undefined, { commits: { [REPO]: 'c'.repeat(40) } })
    const started = await h.pulls.start('m', { repo: REPO })
    expect(started).toMatchObject({ id: 'm', repo: REPO, files: [FILE], total_bytes: SIZE })
    expect(await h.finished('m')).toMatchObject({ state: 'done', done_bytes: SIZE, bytes_per_second: null })
    expect(h.registered.get('m')).toEqual({
      path: join(h.store, TARGET),
      size_bytes: SIZE,
      quant: 'Q4_K_M',
      license: 'apache-2.0',
      hf_repo: REPO,
      hf_filename: FILE,
      sha256: h.hub.sha256(REPO, FILE),
    })
    expect(h.events).toMatchObject([
      { type: 'model.pulled', severity: 'info', source: 'model:m', data: { model: 'm' } },
    ])
    expect(h.hub.fetches.map(({ url }) => url)).toEqual([`/${REPO}/resolve/${'c'.repeat(40)}/${FILE}`])
  })

  it('brings all parts of a split model and its projector, from folders and from several pages', async () => {
    const part = (n: number): string => `Q4_K_M/big-Q4_K_M-0000${n}-of-00003.gguf`
    const h = await begin(
      {
        'README.md': made(10, { listedSha256: null }),
        'mmproj-BF16.gguf': made(7, {}, 9),
        'mmproj-F16.gguf': made(9, {}, 8),
        [part(3)]: made(30, {}, 3),
        [part(1)]: made(10, {}, 4),
        [part(2)]: made(20, {}, 5),
        'Q8_0/big-Q8_0.gguf': made(99, {}, 6),
      },
      { pageEntries: 2 },
    )
    await h.pulls.start('big', { repo: REPO })
    expect(await h.finished('big')).toMatchObject({
      state: 'done',
      files: [part(1), part(2), part(3), 'mmproj-F16.gguf'],
      total_bytes: 69,
    })
    const at = (path: string): string => join(h.store, 'org--name', path)
    expect(h.registered.get('big')).toMatchObject({
      path: at(part(1)),
      files: [at(part(1)), at(part(2)), at(part(3))],
      size_bytes: 60,
      mmproj: at('mmproj-F16.gguf'),
      hf_filename: part(1),
      sha256: h.hub.sha256(REPO, part(1)),
    })
  })

  it('takes repository and file from the row of the model', async () => {
    const h = await begin({ [FILE]: made(10), 'other-Q4_K_M.gguf': made(11, {}, 2) })
    h.registered.set('m', { hf_repo: REPO, hf_filename: 'other-Q4_K_M.gguf' })
    await h.pulls.start('m', {})
    expect(await h.finished('m')).toMatchObject({ state: 'done', files: ['other-Q4_K_M.gguf'] })
  })

  it('fetches nothing when the file is there already', async () => {
    const h = await begin()
    await h.pulls.start('m', { repo: REPO })
    await h.finished('m')
    const started = await h.pulls.start('m', { repo: REPO })
    expect(started).toMatchObject({ done_bytes: SIZE })
    expect(await h.finished('m')).toMatchObject({ state: 'done' })
    expect(h.hub.fetches).toHaveLength(1)
  })

  it('accepts a file of which the hub tells no checksum, and records ours', async () => {
    const h = await begin({ [FILE]: made(SIZE, { listedSha256: null }) })
    h.hub.tricks.push({ kind: 'cut', bytes: MIB })
    await h.pulls.start('m', { repo: REPO })
    expect(await h.finished('m')).toMatchObject({ state: 'done', resumes: 1 })
    expect(h.hub.fetches[1]?.headers['if-range']).toBe(`"${h.hub.sha256(REPO, FILE)}"`)
    expect(h.registered.get('m')?.sha256).toBe(h.hub.sha256(REPO, FILE))
  })
})

describe('a hub that misbehaves and comes round', () => {
  it.each<{ name: string; tricks: readonly Trick[]; fetches: number }>([
    { name: 'ignores Range', tricks: [{ kind: 'cut', bytes: MIB }, { kind: 'ignore_range' }], fetches: 2 },
    { name: 'sends less than promised', tricks: [{ kind: 'short', bytes: 5 }], fetches: 2 },
    { name: 'sends more than promised', tricks: [{ kind: 'long', bytes: 5 }], fetches: 2 },
    {
      name: 'sends more than promised of a rest',
      tricks: [
        { kind: 'cut', bytes: MIB },
        { kind: 'long', bytes: MIB },
      ],
      fetches: 3,
    },
    { name: 'promises too much', tricks: [{ kind: 'say_length', bytes: SIZE + 1 }], fetches: 2 },
    { name: 'promises too little', tricks: [{ kind: 'say_length', bytes: SIZE - 1 }], fetches: 2 },
    {
      name: 'answers with another range',
      tricks: [
        { kind: 'cut', bytes: MIB },
        { kind: 'range_from', bytes: 1 },
      ],
      fetches: 3,
    },
    {
      name: 'changes the ETag',
      tricks: [
        { kind: 'etag', etag: 'old', cutBytes: MIB },
        { kind: 'etag', etag: 'new' },
        { kind: 'etag', etag: 'new' },
      ],
      fetches: 3,
    },
    {
      name: 'fails for a moment',
      tricks: [
        { kind: 'status', status: 500 },
        { kind: 'status', status: 503 },
      ],
      fetches: 3,
    },
    { name: 'breaks before the first byte', tricks: [{ kind: 'cut', bytes: 0 }], fetches: 2 },
  ])('$name: the file is right in the end', async ({ tricks, fetches }) => {
    const h = await begin()
    h.hub.tricks.push(...tricks)
    await h.pulls.start('m', { repo: REPO })
    expect(await h.finished('m')).toMatchObject({ state: 'done', error: null, resumes: fetches - 1, done_bytes: SIZE })
    expect(await sha256On(join(h.store, TARGET))).toBe(h.hub.sha256(REPO, FILE))
    expect(await h.storedFiles()).toEqual([TARGET])
    expect(h.hub.fetches).toHaveLength(fetches)
  })

  it('goes on when the file was replaced meanwhile: the new one is fetched from its start', async () => {
    const files = { [FILE]: made(SIZE) }
    const h = await begin(files)
    h.hub.tricks.push({ kind: 'stall', bytes: MIB })
    await h.pulls.start('m', { repo: REPO })
    await until('bytes came', () => h.pulls.show('m').done_bytes === MIB)
    files[FILE] = made(SIZE + 5, {}, 77)
    h.clock.pass(60_000)
    expect(await h.finished('m')).toMatchObject({ state: 'done', total_bytes: SIZE + 5 })
    expect(await sha256On(join(h.store, TARGET))).toBe(h.hub.sha256(REPO, FILE))
  })

  it('connects anew when no byte came for 60 s, not before', async () => {
    const h = await begin()
    h.hub.tricks.push({ kind: 'stall', bytes: MIB })
    await h.pulls.start('m', { repo: REPO })
    await until('bytes came', () => h.pulls.show('m').done_bytes === MIB)
    h.clock.pass(59_999)
    await new Promise((resolve) => setImmediate(resolve))
    expect(h.hub.fetches).toHaveLength(1)
    h.clock.pass(1)
    expect(await h.finished('m')).toMatchObject({ state: 'done', resumes: 1 })
  })

  it('waits as long as a busy hub asks for', async () => {
    const h = await begin()
    h.hub.tricks.push({ kind: 'status', status: 429, headers: { 'retry-after': '17' } })
    await h.pulls.start('m', { repo: REPO })
    expect(await h.finished('m')).toMatchObject({ state: 'done' })
    expect(h.clock.passedMs).toEqual([17_000])
  })

  it('follows to another server without taking the token there, and keeps the tag of the hub', async () => {
    const h = await begin(undefined, { cdn: true, gatedBy: 'secret' }, { token: 'secret' })
    h.hub.tricks.push({ kind: 'etag', etag: 'edge-1', cutBytes: MIB }, { kind: 'etag', etag: 'edge-2' })
    await h.pulls.start('m', { repo: REPO })
    expect(await h.finished('m')).toMatchObject({ state: 'done', resumes: 1 })
    // What a cut leaves unread does not count.
    expect(h.hub.fetches[1]?.headers['range']).toMatch(/^bytes=[1-9]\d*-$/)
    expect(h.hub.fetches[1]?.headers['if-range']).toBeUndefined()
    const told = (server: string): unknown[] => [
      ...new Set(
        h.hub.requests.filter((seen) => seen.server === server).map(({ headers }) => headers['authorization']),
      ),
    ]
    expect(told('hub')).toEqual(['Bearer secret'])
    expect(told('cdn')).toEqual([undefined])
  })

  it('asks the hub again when a link of the other server has run out', async () => {
    const h = await begin(undefined, { cdn: true })
    h.hub.tricks.push({ kind: 'status', status: 403 })
    await h.pulls.start('m', { repo: REPO })
    expect(await h.finished('m')).toMatchObject({ state: 'done', resumes: 1 })
  })
})

describe('what stays on disk', () => {
  it('is nothing after a wrong checksum, and nothing is registered', async () => {
    const h = await begin()
    h.hub.tricks.push({ kind: 'corrupt' })
    await h.pulls.start('m', { repo: REPO })
    expect(await h.finished('m')).toMatchObject({
      state: 'failed',
      done_bytes: 0,
      error: { code: 'pull.checksum_mismatch' },
    })
    expect(await h.storedFiles()).toEqual([])
    expect([...h.registered]).toEqual([])
    expect(h.events).toMatchObject([{ type: 'model.pull_failed', data: { code: 'pull.checksum_mismatch' } }])
    // The next pull has a clean start.
    await h.pulls.start('m', { repo: REPO })
    expect(await h.finished('m')).toMatchObject({ state: 'done' })
  })

  it('is nothing usable when one part of several is wrong', async () => {
    const h = await begin({ 'a-Q4_K_M-00001-of-00002.gguf': made(10), 'a-Q4_K_M-00002-of-00002.gguf': made(20, {}, 2) })
    h.hub.tricks.push({ kind: 'slow', pauseMs: 0 }, { kind: 'corrupt' })
    await h.pulls.start('m', { repo: REPO })
    expect(await h.finished('m')).toMatchObject({ state: 'failed', error: { code: 'pull.checksum_mismatch' } })
    expect(await h.storedFiles()).toEqual(['org--name/a-Q4_K_M-00001-of-00002.gguf'])
    expect([...h.registered]).toEqual([])
  })

  it.each(['cancel', 'restart'] as const)('is taken up after a %s, hashed from its start', async (how) => {
    const h = await begin()
    h.hub.tricks.push({ kind: 'stall', bytes: MIB + 3 })
    await h.pulls.start('m', { repo: REPO })
    await until('bytes came', () => h.pulls.show('m').done_bytes === MIB + 3)
    if (how === 'cancel') {
      expect(await h.pulls.cancel('m')).toMatchObject({ state: 'cancelled', error: null })
      // Over is over.
      expect(await h.pulls.cancel('m')).toMatchObject({ state: 'cancelled' })
    } else await h.restart()
    expect(await h.storedFiles()).toEqual([
      expect.stringMatching(/\.[0-9a-f]{16}\.part$/),
      expect.stringMatching(/\.[0-9a-f]{16}\.part\.json$/),
    ])
    const started = await h.pulls.start('m', { repo: REPO })
    expect(started).toMatchObject({ done_bytes: MIB + 3 })
    expect(await h.finished('m')).toMatchObject({ state: 'done', resumes: 0 })
    expect(h.hub.fetches[1]?.headers['range']).toBe(`bytes=${MIB + 3}-`)
    expect(await sha256On(join(h.store, TARGET))).toBe(h.hub.sha256(REPO, FILE))
    expect(await h.storedFiles()).toEqual([TARGET])
    expect(h.events.map(({ type }) => type)).toEqual(['model.pulled'])
  })

  it('is a part when the disk fills up meanwhile', async () => {
    const h = await begin({ [FILE]: made(200 * MIB) })
    h.hub.tricks.push({ kind: 'cut', bytes: 3 * MIB })
    const asked: number[] = []
    h.disk.freeBytes = 1224 * MIB
    const { freeBytes } = h.disk
    Object.defineProperty(h.disk, 'freeBytes', {
      get: () => {
        asked.push(freeBytes)
        return asked.length <= 2 ? freeBytes : 5 * MIB
      },
    })
    await h.pulls.start('m', { repo: REPO })
    const job = await h.finished('m')
    const onDiskBytes = (await stat(join(h.store, (await h.storedFiles())[0] ?? ''))).size
    expect(onDiskBytes).toBeGreaterThan(0)
    expect(job).toMatchObject({
      state: 'failed',
      done_bytes: onDiskBytes,
      error: {
        code: 'model.insufficient_disk',
        details: { free_bytes: 5 * MIB, need_bytes: 1224 * MIB - onDiskBytes },
      },
    })
  })
})

describe('settings that change while the daemon runs', () => {
  it('count for the next pull: store and hub', async () => {
    const store = await mkdtemp(join(tmpdir(), 'hal0-elsewhere-'))
    const other = await StandInHub.start({ repos: { [REPO]: { [FILE]: made(SIZE, {}, 2) } } })
    const before = { store: join(store, 'before'), endpoint: 'http://127.0.0.1:1' }
    let now = before
    const h = await begin(
      undefined,
      {},
      {
        storeFolder: () => now.store,
        hub: () => ({ endpoint: now.endpoint, token: () => Promise.resolve(undefined) }),
      },
    )
    try {
      now = { store: join(store, 'now'), endpoint: other.endpoint }
      await h.pulls.start('m', { repo: REPO })
      expect(await h.finished('m')).toMatchObject({ state: 'done' })
      expect(h.registered.get('m')?.path).toBe(join(store, 'now', TARGET))
      expect(await sha256On(join(store, 'now', TARGET))).toBe(other.sha256(REPO, FILE))
    } finally {
      await other.close()
      await rm(store, { recursive: true })
    }
  })

  it('do not keep the daemon from starting when the hub is no address: the pull says it', async () => {
    const h = await begin(undefined, {}, { hub: () => hubSettings({ HF_ENDPOINT: 'mirror.example' }) })
    await expect(h.pulls.start('m', { repo: REPO })).rejects.toMatchObject({
      code: 'config.invalid',
      message: expect.stringContaining('mirror.example'),
      details: { remedy: expect.stringContaining('hub_endpoint') },
    })
    expect(h.pulls.list()).toEqual([])
  })
})
