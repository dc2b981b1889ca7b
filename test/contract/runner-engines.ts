import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Runner } from '../../src/runners/runner.ts'
import { freePort } from '../support/free-port.ts'

/** The bundled model: answers are known (models/README.md). */
export const HELLO = fileURLToPath(new URL('../../models/hello.gguf', import.meta.url))

/** The name the suites give their engine. */
export const ALIAS = 'contract'

/** A running engine as the suites see it. */
export interface TestEngine {
  readonly origin: string
  readonly key: string
  readonly child: ChildProcess
  /** stdout and stderr so far. */
  output(): string
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  /** Ends it for sure; idempotent. */
  stop(): Promise<void>
}

export interface StartEngineOptions {
  readonly model?: string
  readonly port?: number
  /** After the base and slot layers. */
  readonly flags?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** Starts a runner's engine as a launch would (SPEC 9: base and slot layers); does not wait for it. */
export async function spawnEngine(runner: Runner, options: StartEngineOptions = {}): Promise<TestEngine> {
  const port = options.port ?? (await freePort())
  const [program, ...before] = await runner.findCommand()
  const flags = ['--host', '127.0.0.1', '--port', `${port}`, '--model', options.model ?? HELLO, '--alias', ALIAS]
  // One thread: with two, a step of this tiny model waits for the slower of them on a machine that has other work.
  const slot = ['--ctx-size', '2048', '-ngl', '0', '--threads', '1', '--metrics']
  const key = 'contract-key-0123456789'
  const child = spawn(program, [...before, ...flags, ...slot, ...(options.flags ?? [])], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      ...options.env,
      ...(runner.keyEnv === undefined ? {} : { [runner.keyEnv]: key }),
    },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  // 'close', not 'exit': its last words have arrived as well.
  const exited = once(child, 'close').then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
  }))
  return {
    origin: `http://127.0.0.1:${port}`,
    key,
    child,
    output: () => output,
    exited,
    stop: async () => {
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** Waits until `/health` is 200. Rejects with its output when the engine ends before. */
export async function untilHealthy(engine: TestEngine, timeoutMs = 20_000): Promise<TestEngine> {
  let ended = false
  void engine.exited.then(() => {
    ended = true
  })
  await until(`${engine.origin}/health is 200`, timeoutMs, async () => {
    if (ended) throw new Error(`the engine ended before it was ready:\n${engine.output()}`)
    const response = await fetch(`${engine.origin}/health`).catch(() => undefined)
    await response?.arrayBuffer()
    return response?.status === 200
  })
  return engine
}

/** Asks again and again until the answer is true; rejects naming `what` when it takes too long. */
export async function until(what: string, timeoutMs: number, ask: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + timeoutMs
  while (!(await ask())) {
    if (performance.now() > endMs) throw new Error(`waited ${timeoutMs} ms in vain until ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
