import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { repoRoot, runCli } from '../support/run-cli.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-cli-simulate-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const simulate = (...words: string[]) => runCli(['lane', 'simulate', ...words], { userFolder: folder })

describe('hal0 lane simulate', () => {
  it('prints the timeline of the example, and needs no daemon', async () => {
    const { code, stdout, stderr } = await simulate(join(repoRoot, 'docs/examples/a-day.toml'))
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^2026-12-01 Europe\/Berlin \(\+01:00\)\n08:00:00 {2}gpu0 {2}booking/)
    expect(stdout).toMatch(/\n09:00:00 {2}gpu0 {2}ready {5}big \(chat\) \[reserved morning\]\n/)
    expect(stdout).toMatch(/\n\ngpu0: ready for holders .* 1 cut\n$/)
  })

  it('gives the same as data', async () => {
    const { code, stdout } = await simulate(join(repoRoot, 'docs/examples/a-day.toml'), '--json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      time_zone: 'Europe/Berlin',
      start: '2026-12-01T07:00:00.000Z',
      end: '2026-12-01T19:00:00.000Z',
      timeline: expect.arrayContaining([
        {
          at: '2026-12-01T08:00:00.000Z',
          lane: 'gpu0',
          text: 'big (chat) [reserved morning]',
          kind: 'lane',
          phase: 'ready',
          current: { kind: 'model', model: 'big', profile: 'chat' },
          target: { kind: 'model', model: 'big', profile: 'chat' },
          reason: 'reserved',
          reservation: 'morning',
          is_fallback: false,
        },
      ]),
      lanes: [{ lane: 'gpu0', cut: 1 }],
    })
  })

  it('ends with 2 and every mistake of the file', async () => {
    const file = join(folder, 'day.toml')
    await writeFile(file, 'start = "soon"\nhour = 3\n[lanes.gpu0]\ndefault = { model = "small" }\n')
    const told = await simulate(file)
    expect(told.code).toBe(2)
    expect(told.stdout.trimEnd().split('\n')).toEqual([
      expect.stringContaining(`${file}\tstart\texpected a day and a time, such as`),
      `${file}\thour\tunknown key; did you mean hours?`,
      `${file}\tlanes.gpu0.default.model\tnothing under models is called "small"; there are none`,
    ])
    expect(told.stderr).toBe(`${file}: 3 mistakes; nothing was played\n`)
    const data = await simulate(join(folder, 'gone.toml'), '--json')
    expect(data.code).toBe(2)
    expect(JSON.parse(data.stdout)).toEqual({
      mistakes: [{ file: join(folder, 'gone.toml'), key: '', message: 'there is no such file; expected a scenario' }],
    })
  })
})
