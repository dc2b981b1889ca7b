import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createEmbeddedRunner } from '../../src/runners/embedded.ts'
import { parseHelp } from '../../src/runners/rules/parse-help.ts'

const run = promisify(execFile)

describe('the embedded runner', () => {
  it('knows of its engine what that would print, without starting it', async () => {
    const runner = createEmbeddedRunner()
    const [program, ...words] = await runner.findCommand()
    const { help, version, abilities } = await runner.describe(['/nowhere/node', '/nowhere/server.js'])
    const printed = await Promise.all([
      run(program, [...words, '--help'], { encoding: 'utf8' }),
      run(program, [...words, '--version'], { encoding: 'utf8' }),
    ])
    expect(help).toEqual(parseHelp(printed[0].stdout))
    expect(version).toBe(printed[1].stdout.trim())
    expect(abilities).toEqual({ jinja: true, mmproj: false, drafter: false, mtp: false, ngram: false })
  })
})
