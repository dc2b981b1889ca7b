import { once } from 'node:events'
import { cp, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createEmbeddedRunner } from '../../src/runners/embedded.ts'
import { explainFailure, type FailureExplanation } from '../../src/runners/rules/explain-failure.ts'
import { firstChunk, get, open } from './runner-client.ts'
import { HELLO, type StartEngineOptions, spawnEngine, until, untilHealthy } from './runner-engines.ts'

const runner = createEmbeddedRunner()
const LONG = { prompt: 'Tell me a story', max_tokens: 2000, ignore_eos: true, temperature: 0, stream: true }

describe('embedded engine, start and end', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hal0-embedded-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  it('is this Node with the compiled program, also when hal0 runs from its sources', async () => {
    const [program, script] = await runner.findCommand()
    expect(program).toBe(process.execPath)
    expect(script).toMatch(/\/dist\/runners\/embedded\/server\.js$/)
  })

  it('says where it listens, and is 503 "Loading model" until it serves', async () => {
    const engine = await spawnEngine(runner)
    try {
      await until('it listens', 10_000, async () => engine.output().includes(`listening on ${engine.origin}\n`))
      const seen = new Set<number>()
      await until('it serves', 20_000, async () => {
        const { status, json } = await get(engine, '/health')
        if (status === 503) expect(json.error).toMatchObject({ message: 'Loading model', code: 503 })
        seen.add(status)
        return status === 200
      })
      expect([...seen]).toEqual([503, 200])
    } finally {
      await engine.stop()
    }
  })

  it('exits with code 0 on SIGTERM in the middle of a stream that nobody reads', async () => {
    const engine = await untilHealthy(await spawnEngine(runner))
    try {
      await firstChunk(open(engine, '/v1/completions', LONG))
      engine.child.kill('SIGTERM')
      expect(await engine.exited).toEqual({ code: 0, signal: null })
    } finally {
      await engine.stop()
    }
  })

  it('ends on SIGTERM while it loads', async () => {
    const engine = await spawnEngine(runner)
    try {
      await until('it listens', 10_000, async () => engine.output().includes('listening'))
      engine.child.kill('SIGTERM')
      const { code, signal } = await engine.exited
      // A load that takes longer than the engine waits is cut by its own SIGKILL.
      expect(code === 0 || signal === 'SIGKILL').toBe(true)
    } finally {
      await engine.stop()
    }
  })

  async function failWith(options: StartEngineOptions): Promise<FailureExplanation | undefined> {
    const engine = await spawnEngine(runner, options)
    try {
      expect(await engine.exited).toEqual({ code: 1, signal: null })
      return explainFailure(engine.output().split('\n'), runner.signatures)
    } finally {
      await engine.stop()
    }
  }

  it('names a file that is missing', async () => {
    const model = join(folder, 'none.gguf')
    expect(await failWith({ model })).toMatchObject({
      cause: 'bad_file',
      line: `error: model file not found: ${model}`,
    })
  })

  it('names a file that is no GGUF', async () => {
    const model = join(folder, 'page.gguf')
    await writeFile(model, '<html>not found</html>')
    const found = await failWith({ model })
    expect(found).toMatchObject({ cause: 'bad_file' })
    expect(found?.line).toContain('begins with "<htm"')
  })

  it.each([
    ['in its tensors', 700_000],
    ['in its header', 2_000],
  ])('names a file that was cut %s', async (_where, bytes) => {
    const model = join(folder, 'cut.gguf')
    await cp(HELLO, model)
    await truncate(model, bytes)
    expect(await failWith({ model })).toMatchObject({ cause: 'bad_file' })
  })

  it('names an architecture it does not know', async () => {
    const model = join(folder, 'strange.gguf')
    const bytes = await readFile(HELLO)
    const at = bytes.indexOf('llama', bytes.indexOf('general.architecture'))
    bytes.write('xlama', at, 'latin1')
    await writeFile(model, bytes)
    const found = await failWith({ model })
    expect(found).toMatchObject({ cause: 'unsupported_architecture' })
    expect(found?.line).toContain("'xlama'")
  })

  it('names a port that is taken', async () => {
    const holder = createServer().listen(0, '127.0.0.1')
    await once(holder, 'listening')
    const address = holder.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    try {
      const found = await failWith({ port })
      expect(found).toMatchObject({ cause: 'port_in_use' })
      expect(found?.line).toContain(`127.0.0.1:${port}`)
    } finally {
      holder.close()
    }
  })

  it('names a flag it does not know', async () => {
    expect(await failWith({ flags: ['--frobnicate'] })).toMatchObject({
      cause: 'bad_flag',
      line: 'error: unknown argument "--frobnicate"; run with --help for the list',
    })
  })
})
