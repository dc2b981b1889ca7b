import { expect, it } from 'vitest'
import { createLlamaCppRunner } from '../../src/runners/llama-cpp.ts'
import { FAKE_ENGINE } from '../support/start-fake.ts'
import { start } from './fake-engine-start.ts'

/** What ends the engine instead of starting it, and what the test itself gives. */
const NOT_GIVEN = new Set(['-h', '--help', '--usage', '--version', '--host', '--port'])

it('the fake engine takes every flag that its help names', async () => {
  const runner = createLlamaCppRunner({ key: 'fake', title: 'fake engine', env: process.env })
  const { help } = await runner.describe([process.execPath, FAKE_ENGINE])
  const options = [...(help?.flags ?? [])].filter(([name]) => !NOT_GIVEN.has(name))
  expect(options.length).toBeGreaterThan(100)
  const args = options.flatMap(([name, { values, choices }]) => [
    name,
    ...Array.from({ length: values }, () => choices[0] ?? '1'),
  ])
  const engine = await start({ argv: args })
  const { argv } = await engine.state()
  expect(argv.join(' ')).toContain(args.join(' '))
})
