import { mkdir, mkdtemp, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startPullHarness, until } from '../../../test/support/hub/pull-harness.ts'
import { HOUR_MS } from '../../kernel/units.ts'
import { sweepParts } from './sweep-parts.ts'

const NOW_MS = Date.UTC(2026, 0, 10)
const DAY_MS = 24 * HOUR_MS
const PART = 'm.gguf.0123456789abcdef.part'

let store = ''
beforeEach(async () => {
  store = await mkdtemp(join(tmpdir(), 'hal0-sweep-'))
})
afterEach(() => rm(store, { recursive: true, force: true }))

async function put(relative: string, ageMs: number, nowMs = NOW_MS): Promise<void> {
  const path = join(store, relative)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, 'x')
  await utimes(path, (nowMs - ageMs) / 1000, (nowMs - ageMs) / 1000)
}

async function left(): Promise<readonly string[]> {
  const entries = await readdir(store, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(store.length + 1))
    .toSorted()
}

describe('sweepParts', () => {
  it.each([
    { name: 'a part of a day', files: { [`o--n/${PART}`]: DAY_MS, [`o--n/${PART}.json`]: DAY_MS }, kept: [] },
    { name: 'a younger one', files: { [`o--n/${PART}`]: DAY_MS - 1000 }, kept: [`o--n/${PART}`] },
    {
      name: 'old facts beside a young part',
      files: { [`o--n/${PART}`]: HOUR_MS, [`o--n/${PART}.json`]: 9 * DAY_MS },
      kept: [`o--n/${PART}`, `o--n/${PART}.json`],
    },
    { name: 'facts alone, in a folder', files: { [`o--n/Q4/${PART}.json`]: DAY_MS }, kept: [] },
    { name: 'half-written facts', files: { [`o--n/${PART}.json.1234567`]: DAY_MS }, kept: [] },
    {
      name: 'what is not ours',
      files: {
        'o--n/m.gguf': 9 * DAY_MS,
        'o--n/m.part': 9 * DAY_MS,
        'o--n/m.gguf.123.part': 9 * DAY_MS,
        [`o--n/${PART}.bak`]: 9 * DAY_MS,
      },
      kept: ['o--n/m.gguf', `o--n/${PART}.bak`, 'o--n/m.gguf.123.part', 'o--n/m.part'],
    },
  ])('$name: $kept stays', async ({ files, kept }) => {
    for (const [path, ageMs] of Object.entries(files)) await put(path, ageMs)
    await sweepParts(store, NOW_MS, () => false)
    expect(await left()).toEqual(kept)
  })

  it('leaves what a pull owns, follows no link, and bears a store that is not there', async () => {
    await put(`o--n/${PART}`, 9 * DAY_MS)
    await put(`away/${PART}`, 9 * DAY_MS)
    await mkdir(join(store, 'store'))
    await symlink(join(store, 'away'), join(store, 'store', 'o--n'))
    expect(await sweepParts(join(store, 'store'), NOW_MS, () => false)).toEqual([])
    expect(await sweepParts(join(store, 'nothing'), NOW_MS, () => false)).toEqual([])
    const owned = join(store, `o--n/${PART}`)
    expect(await sweepParts(store, NOW_MS, (path) => path === owned)).toEqual([join(store, `away/${PART}`)])
  })
})

it('a daemon sweeps at its start and every hour', async () => {
  const h = await startPullHarness({ repos: {} })
  const folder = join(h.store, 'o--n')
  try {
    await mkdir(folder, { recursive: true })
    const path = join(folder, PART)
    await writeFile(path, 'x')
    const atS = h.clock.nowMs() / 1000
    await utimes(path, atS, atS)
    h.clock.pass(23 * HOUR_MS)
    // Three of the hourly looks, each of which found it too young.
    h.clock.pass(HOUR_MS - 1)
    expect(await readdir(folder)).toEqual([PART])
    h.clock.pass(HOUR_MS)
    await until('the part is gone', async () => (await readdir(folder)).length === 0)
    await writeFile(path, 'x')
    await utimes(path, 0, 0)
    await h.restart()
    await until('the part is gone', async () => (await readdir(folder)).length === 0)
  } finally {
    await h.close()
  }
})

it('a sweep looks through the store that is set now', async () => {
  let folder = '/nonexistent/store'
  const h = await startPullHarness({ repos: {} }, { storeFolder: () => folder })
  try {
    folder = join(h.store, 'moved')
    await mkdir(join(folder, 'o--n'), { recursive: true })
    await writeFile(join(folder, 'o--n', PART), 'x')
    await utimes(join(folder, 'o--n', PART), 0, 0)
    h.clock.pass(HOUR_MS)
    await until('the part is gone', async () => (await readdir(join(folder, 'o--n'))).length === 0)
    expect(await readdir(folder)).toEqual(['o--n'])
  } finally {
    await h.close()
  }
})
