import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { failure } from '../../../test/support/failure.ts'
import type { StandInFile } from '../../../test/support/hub/hub.ts'
import { type PullHarness, startPullHarness, until } from '../../../test/support/hub/pull-harness.ts'
import { firstFileOf, readModelRows, writeModelRows } from '../../config/models/models-file.ts'
import type { ModelFacts } from '../../contract/model.ts'
import { type Home, homeAt } from '../../files/home.ts'
import { MIB } from '../../kernel/units.ts'
import { createMissingFiles, type MissingFiles, type MissingModel, missingFiles } from './pull-missing.ts'

const REPO = 'org/name'
const FILE = 'tiny-Q4_K_M.gguf'
const SIZE = 3 * MIB
const made = (sizeBytes: number, seed = 1): StandInFile => ({ content: { sizeBytes, seed } })
const PULLED = { hf_repo: REPO, hf_filename: FILE }

let folder: string
let home: Home
let harness: PullHarness | undefined
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-missing-'))
  home = homeAt(folder)
  await mkdir(home.etc, { recursive: true })
})
afterEach(async () => {
  await harness?.close()
  harness = undefined
  await rm(folder, { recursive: true, force: true })
})

/** A registry with these rows beside a hub with these files. */
async function begin(
  rows: Readonly<Record<string, ModelFacts>>,
  files: Record<string, StandInFile> = { [FILE]: made(SIZE) },
): Promise<PullHarness & { readonly missing: MissingFiles }> {
  await writeModelRows(home, () => rows)
  const started = await startPullHarness(
    { repos: { [REPO]: files } },
    {
      rowOf: async (id) => (await readModelRows(home)).get(id),
      isTaken: async (id, path, repo) => {
        const row = (await readModelRows(home)).get(id)
        return row !== undefined && row.hf_repo !== repo && firstFileOf(row) !== path
      },
      register: (id, facts) => writeModelRows(home, (all) => ({ [id]: { ...all.get(id), ...facts } })),
    },
  )
  harness = started
  return Object.assign(started, { missing: createMissingFiles(home, () => started.pulls) })
}

async function found(missing: MissingFiles, id = 'm'): Promise<MissingModel> {
  const model = await missing.find(id)
  if (model === undefined) throw new Error('nothing is to be fetched')
  return model
}

const never = new AbortController().signal
const gone = (name: string): string => `/nowhere/hal0-missing/${name}`
const lost = { m: { path: gone(FILE), ...PULLED } }

describe('what is missing', () => {
  it.each<[string, (there: string) => ModelFacts, readonly string[], boolean]>([
    ['nothing', (there) => ({ path: there, ...PULLED }), [], false],
    ['the model, and nobody knows from where', () => ({ path: gone('a') }), ['a'], false],
    ['the model, and its file is not known', () => ({ path: gone('a'), hf_repo: REPO }), ['a'], false],
    ['the model', () => ({ path: gone('a'), ...PULLED }), ['a'], true],
    ['one part', (there) => ({ files: [there, gone('b')], ...PULLED }), ['b'], true],
    ['model and projector', () => ({ path: gone('a'), mmproj: gone('p'), ...PULLED }), ['a', 'p'], true],
    ['the projector alone', (there) => ({ path: there, mmproj: gone('p'), ...PULLED }), ['p'], false],
    ['a drafter', (there) => ({ path: there, drafter: gone('d'), ...PULLED }), ['d'], false],
    ['model and drafter', () => ({ path: gone('a'), drafter: gone('d'), ...PULLED }), ['a', 'd'], false],
    ['a template', () => ({ path: gone('a'), chat_template: gone('t'), ...PULLED }), ['a', 't'], false],
    ['nothing of a folder', () => ({ path: folder, ...PULLED }), [], false],
  ])('%s', async (_name, row, names, isPullable) => {
    const there = join(folder, 'there.gguf')
    await writeFile(there, 'x')
    expect(await missingFiles(row(there))).toEqual({ missing: names.map(gone), isPullable })
  })

  it('is not what stands there as something else', async () => {
    const part = join(folder, 'part.gguf')
    await mkdir(part)
    const row = { files: [join(folder, 'other.gguf'), part], ...PULLED }
    expect(await missingFiles(row)).toMatchObject({ missing: row.files, isPullable: false })
  })

  it('is left to the launch where no pull can bring it', async () => {
    const { missing } = await begin({ m: { path: gone('a') } })
    expect([await missing.find('m'), await missing.find('unknown'), await missing.find('')]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    await writeFile(join(home.etc, 'models.toml'), '[models.m\n')
    expect((await failure(missing.find('m'))).code).toBe('config.invalid')
  })
})

describe('a load that fetches first', () => {
  it('pulls what the row names, tells how far it is, and the row names what came', async () => {
    const h = await begin(lost)
    const told: string[] = []
    const model = await found(h.missing)
    expect(model.what).toBe(REPO)
    await model.fetch(never, (message) => told.push(message))
    const path = firstFileOf((await readModelRows(home)).get('m') ?? {})
    expect((await stat(path)).size).toBe(SIZE)
    expect(await h.missing.find('m')).toBeUndefined()
    expect(told.length).toBeGreaterThan(0)
    for (const line of told) expect(line).toMatch(/^(fetching org\/name: \d{1,2} % of 3 MiB|checking what was .*)$/)
    expect(told.filter((line, at) => line === told[at - 1])).toEqual([])
  })

  it('brings only the parts that are not there', async () => {
    const part = (n: number): string => `big-Q4_K_M-0000${n}-of-00002.gguf`
    const h = await begin({}, { [part(1)]: made(MIB, 1), [part(2)]: made(MIB, 2) })
    await h.pulls.start('m', { repo: REPO })
    expect((await h.finished('m')).state).toBe('done')
    const second = (await readModelRows(home)).get('m')?.files?.[1] ?? ''
    await rm(second)
    h.hub.requests.length = 0
    await (await found(h.missing)).fetch(never, () => {})
    expect((await stat(second)).size).toBe(MIB)
    const got = h.hub.requests.filter(({ method, url }) => method === 'GET' && url.includes('/resolve/'))
    expect(got.map(({ url }) => url.split('/').at(-1))).toEqual([part(2)])
  })

  it('joins the pull that runs, and two loads share one', async () => {
    const h = await begin(lost)
    h.hub.tricks.push({ kind: 'slow', pauseMs: 1 })
    await h.pulls.start('m', {})
    const model = await found(h.missing)
    await Promise.all([model.fetch(never, () => {}), model.fetch(never, () => {})])
    expect(h.hub.fetches).toHaveLength(1)
    expect((await h.finished('m')).state).toBe('done')
  })

  it('waits for another model that fetches the same file, then finds it there', async () => {
    const h = await begin({ ...lost, twin: { path: gone(FILE), ...PULLED } })
    h.hub.tricks.push({ kind: 'slow', pauseMs: 1 })
    await h.pulls.start('twin', {})
    await (await found(h.missing)).fetch(never, () => {})
    expect(h.hub.fetches).toHaveLength(1)
    expect(await h.missing.find('m')).toBeUndefined()
  })

  it('leaves when it is aborted; the others and the pull go on', async () => {
    const h = await begin(lost)
    h.hub.tricks.push({ kind: 'slow', pauseMs: 20 })
    const model = await found(h.missing)
    const stop = new AbortController()
    const left = model.fetch(stop.signal, () => {})
    const stays = model.fetch(never, () => {})
    await until('the pull begins', () => h.hub.fetches.length === 1)
    stop.abort(new Error('the slot is unloaded'))
    await expect(left).rejects.toThrow('the slot is unloaded')
    await stays
    expect((await h.finished('m')).state).toBe('done')
    await expect(model.fetch(AbortSignal.abort(new Error('late')), () => {})).rejects.toThrow('late')
  })
})

describe('a pull that does not bring them', () => {
  it('cannot begin: its error as it is', async () => {
    const h = await begin({ m: { ...lost.m, hf_filename: 'other.gguf' } })
    const error = await failure((await found(h.missing)).fetch(never, () => {}))
    expect(error).toMatchObject({ code: 'validation.invalid', param: 'file' })
    expect(error.message).toContain('other.gguf')
  })

  it('fails on its way: its error as it is', async () => {
    const h = await begin(lost)
    h.hub.always = { kind: 'corrupt' }
    const error = await failure((await found(h.missing)).fetch(never, () => {}))
    expect(error.code).toBe('pull.checksum_mismatch')
    expect(error.message).toContain(FILE)
    expect(error.details?.['remedy']).toEqual(expect.any(String))
  })

  it('is cancelled by somebody', async () => {
    const h = await begin(lost)
    h.hub.tricks.push({ kind: 'stall', bytes: MIB })
    const fetched = failure((await found(h.missing)).fetch(never, () => {}))
    await until('bytes come', () => h.pulls.list().some(({ done_bytes }) => done_bytes > 0))
    await h.pulls.cancel('m')
    const error = await fetched
    expect(error.code).toBe('slot.model_missing')
    expect(error.message).toBe('the pull of model "m" was cancelled before its files were there')
  })

  it('brings other files than the row goes on naming', async () => {
    const projector = gone('mmproj.gguf')
    const h = await begin({ m: { ...lost.m, mmproj: projector } })
    const error = await failure((await found(h.missing)).fetch(never, () => {}))
    expect(error).toMatchObject({ code: 'slot.model_missing', details: { model: 'm', missing: [projector] } })
  })
})
