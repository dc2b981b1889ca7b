import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { playScenario } from './play-scenario.ts'
import { readScenario } from './read-scenario.ts'
import { simulationLines } from './simulation-text.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const days = join(root, 'test/fixtures/days')

async function play(path: string) {
  const scenario = await readScenario(path)
  if (!scenario.ok) throw new Error(JSON.stringify(scenario.error, null, 2))
  return await playScenario(scenario.value)
}

describe('a simulated day', () => {
  const files = readdirSync(days).filter((file) => file.endsWith('.toml'))
  it.each(files)('%s', async (file) => {
    const lines = simulationLines(await play(join(days, file)))
    await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(join(days, file.replace('.toml', '.txt')))
  })

  it('is the same every time', async () => {
    const file = join(days, 'fallback-and-recovery.toml')
    expect(await play(file)).toEqual(await play(file))
  })

  it('counts the hour that comes twice as an hour', async () => {
    const { lanes } = await play(join(days, 'clocks-put-back.toml'))
    expect(lanes[0]).toMatchObject({ ready_for_holders_min: 120 + 180, holders_waited_min: 0, switches: 5 })
  })

  it('is told in docs/simulator.md as it is played', async () => {
    const page = readFileSync(join(root, 'docs/simulator.md'), 'utf8')
    const shown = /```text\n(.*?)\n```/s.exec(page)?.[1]?.split('\n') ?? []
    const lines = simulationLines(await play(join(root, 'docs/examples/a-day.toml')))
    expect(shown.length).toBeGreaterThan(20)
    expect(lines).toEqual(expect.arrayContaining(shown.filter((line) => line !== '…')))
  })
})
