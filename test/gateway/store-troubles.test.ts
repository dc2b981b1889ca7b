import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import type { LaneRow } from '../../src/contract/lane.ts'
import { databasePath, type Home, launchRecordPath } from '../../src/files/home.ts'
import { eventually } from '../support/daemon-harness.ts'
import { isRunning, isUp, makeOwnHome, type Served, serve } from './adoption-world.ts'

const HOUR_MS = 3_600_000

async function writeLane(home: Home, name: string): Promise<void> {
  await mkdir(join(home.etc, 'lanes'), { recursive: true })
  const text =
    'device = "cpu"\nrunner = "cpu"\nmin_preload_s = 0\n[default]\nmodel = "hello"\nprofile = "chat"\n[limits]\nmin_minutes = 0\n'
  await writeFile(join(home.etc, 'lanes', `${name}.toml`), text)
}

const ask = async (daemon: Served, path: string) => (await fetch(`${daemon.url}${path}`)).json()
const codeOf = async (response: Response) => [
  response.status,
  ((await response.json()) as { error?: { code: string } }).error?.code,
]
/** From now on for an hour; the caller on this machine is its holder. */
const book = (daemon: Served, lane: string, fromMs = 0) =>
  daemon.post('/api/reservations', {
    lane,
    model: 'twin',
    start: new Date(Date.now() + fromMs).toISOString(),
    end: new Date(Date.now() + fromMs + HOUR_MS).toISOString(),
  })

it('a launch that cannot be written down starts; a daemon that comes after a killed one starts it anew, and writes it when it can', async () => {
  const at = await makeOwnHome({})
  await writeLane(at.home, 'desk')
  const record = launchRecordPath(at.home, 'desk')
  // As good as a full disk: no file can take this name.
  await mkdir(join(record, 'in-the-way'), { recursive: true })
  const first = await serve(at)
  const { pid } = await first.until('desk', isUp)
  expect((await first.chat('desk')).status).toBe(200)
  expect(await first.events('slot.launch_not_saved')).toMatchObject([{ data: { slot: 'desk', path: record } }])
  await first.kill9()

  const second = await serve(at)
  const again = await second.until('desk', isUp)
  expect(again.pid).not.toBe(pid)
  expect(await isRunning(pid ?? 0)).toBe(false)
  expect(await second.events('slot.survivor_stopped')).toMatchObject([{ data: { slot: 'desk', pid } }])
  await rm(record, { recursive: true })
  await second.post('/api/lanes/desk/reload')
  const last = await second.until('desk', isUp)
  expect(JSON.parse(await readFile(record, 'utf8'))).toMatchObject({ slot: 'desk' })
  expect(await second.events('slot.launch_saved')).toHaveLength(1)
  await second.kill9()

  const third = await serve(at)
  expect((await third.until('desk', isUp)).pid).toBe(last.pid)
})

it('hal0.db is moved away while hal0 runs: holders are served, nothing that would be lost is taken, and all goes on when it is back', async () => {
  const at = await makeOwnHome({ plain: {} }, { scheduler: { tick_seconds: 1, buffer_seconds: 0 } })
  for (const lane of ['desk', 'hall']) await writeLane(at.home, lane)
  const daemon = await serve(at)
  for (const lane of ['desk', 'hall']) await daemon.until(lane, isUp)
  expect((await book(daemon, 'desk')).status).toBe(201)
  await eventually(async () => {
    const row = (await ask(daemon, '/api/lanes/desk')) as LaneRow
    return row.phase === 'ready' && row.active !== null && row.current.kind === 'model' && row.current.model === 'twin'
  })

  const path = databasePath(at.home)
  await rename(path, `${path}.away`)
  await eventually(async () => (await daemon.events('lanes.store_off')).length > 0)
  expect(await ask(daemon, '/api/status')).toMatchObject({ history_problem: expect.stringContaining('moved away') })
  expect((await daemon.chat('desk')).status).toBe(200)
  expect(await codeOf(await daemon.chat('hall'))).toEqual([503, 'lane.store_unavailable'])
  expect((await daemon.chat('plain')).status).toBe(200)
  const refused = [503, 'lane.store_unavailable']
  expect(await codeOf(await book(daemon, 'hall'))).toEqual(refused)
  expect(await codeOf(await daemon.post('/api/lanes/hall/manual', { model: 'twin' }))).toEqual(refused)
  const user = { name: 'ada', role: 'admin', password: 'a long enough password' }
  expect(await codeOf(await daemon.post('/api/users', user))).toEqual(refused)
  await expect(stat(join(dirname(path), 'users.defined'))).rejects.toThrow('ENOENT')
  expect(await daemon.events('lanes.store_off')).toHaveLength(1)

  await rename(`${path}.away`, path)
  // Whoever writes tries at once.
  expect((await book(daemon, 'hall', HOUR_MS)).status).toBe(201)
  expect(await daemon.events('lanes.store_on')).toHaveLength(1)
  expect((await daemon.chat('hall')).status).toBe(200)
  await daemon.end()
  const next = await serve(at)
  const { reservations } = (await ask(next, '/api/reservations')) as { reservations: unknown[] }
  expect(reservations).toHaveLength(2)
})
