import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** Absolute path of the fake engine's program; it takes llama-server's argv. */
export const FAKE_ENGINE = fileURLToPath(new URL('../fake-engine/fake-engine.mjs', import.meta.url))

/** Any knobs of test/fake-engine/README.md; a misspelt one is refused by the engine. */
export type FakeKnobs = Readonly<Record<string, unknown>>

/** One request as the engine saw it. */
export interface FakeRequest {
  readonly n: number
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body_sha256: string | null
  readonly body_bytes: number
  /** Number of the TCP connection it came on. */
  readonly connection: number
  readonly at_ns: string
  readonly phase: 'body' | 'queued' | 'before_first_byte' | 'mid_stream' | 'done' | 'aborted'
  readonly tokens: number
  readonly status: number
}

/** Counter names that `waitFor` knows. */
export type FakeCounter =
  | 'connections'
  | 'connections_open'
  | 'bad_requests'
  | 'unauthorized'
  | 'requests'
  | 'inference'
  | 'sanity_requests'
  | 'answered'
  | 'prompt_tokens'
  | 'tokens'
  | 'active'
  | 'waiting'
  | 'max_active'
  | 'sigterms'
  | 'aborts'
  | 'aborts_body'
  | 'aborts_queued'
  | 'aborts_before_first_byte'
  | 'aborts_mid_stream'

/** What GET /fake/state says. */
export interface FakeState {
  readonly pid: number
  readonly argv: readonly string[]
  readonly env_names: readonly string[]
  readonly port: number
  readonly loaded: boolean
  readonly grandchildren: readonly number[]
  readonly knobs: FakeKnobs
  readonly counters: Readonly<Record<FakeCounter, number>>
  /** Since start or reset, of all connections but those of the control routes. */
  readonly bytes_read: number
  /** What the engine's kernel has taken: a client that does not read holds it back. */
  readonly bytes_written: number
  readonly by_path: Readonly<Record<string, number>>
  readonly abort_log: readonly { n: number; phase: string; at_ns: string; tokens: number }[]
  /** The last 64, oldest first. */
  readonly requests: readonly FakeRequest[]
  /** The last POST. */
  readonly last_request: FakeRequest | null
}

/** The control routes of a fake engine, wherever it was started (also one that the daemon runs). */
export interface FakeControl {
  state(): Promise<FakeState>
  setKnobs(knobs: FakeKnobs): Promise<void>
  /** Resolves when the counter has reached `min`; rejects after `timeoutMs` (10 s) naming what it stood at. */
  waitFor(counter: FakeCounter, min: number, timeoutMs?: number): Promise<FakeState>
  /** Counters and logs to zero. */
  reset(): Promise<void>
}

/** How tests look inside the fake engine at `origin`. */
export function fakeControl(origin: string): FakeControl {
  const call = async (method: string, path: string, body?: unknown): Promise<Response> =>
    fetch(`${origin}/fake/${path}`, {
      method,
      headers: { connection: 'close' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  return {
    state: async () => (await (await call('GET', 'state')).json()) as FakeState,
    setKnobs: async (knobs) => {
      const answer = await call('POST', 'knobs', knobs)
      if (!answer.ok) throw new Error(`fake engine refused the knobs: ${await answer.text()}`)
    },
    waitFor: async (counter, min, timeoutMs = 10_000) => {
      const answer = await call('GET', `wait?counter=${counter}&min=${min}&timeout_ms=${timeoutMs}`)
      const state = (await answer.json()) as FakeState
      if (answer.ok) return state
      throw new Error(`fake engine: ${counter} is ${state.counters?.[counter]}, waited ${timeoutMs} ms for ${min}`)
    },
    reset: async () => void (await (await call('POST', 'reset')).text()),
  }
}

export interface FakeEngine extends FakeControl {
  readonly origin: string
  readonly key: string
  readonly pid: number
  readonly child: ChildProcess
  /** Its stderr so far. */
  stderr(): string
  /** Resolves with code or signal once the process has ended. */
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  /** Ends it and its grandchildren for sure; idempotent. */
  stop(): Promise<void>
}

export interface StartFakeOptions {
  readonly knobs?: FakeKnobs
  /** After `--host 127.0.0.1 --port 0 --model /nowhere/fake.gguf --alias fake`. */
  readonly argv?: readonly string[]
  /** '' = the engine asks for no key. */
  readonly key?: string
  readonly env?: Readonly<Record<string, string>>
}

/**
 * Starts a fake engine on a free port and waits until it listens (not until it has "loaded": that is a knob).
 * It also ends when the test process dies. Rejects with its stderr when it exits before it listens.
 */
export async function startFakeEngine(options: StartFakeOptions = {}): Promise<FakeEngine> {
  const key = options.key ?? 'test-engine-key'
  const base = ['--host', '127.0.0.1', '--port', '0', '--model', '/nowhere/fake.gguf', '--alias', 'fake']
  const child = spawn(process.execPath, [FAKE_ENGINE, ...base, ...(options.argv ?? [])], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      ...(key === '' ? {} : { LLAMA_API_KEY: key }),
      ...options.env,
      FAKE_KNOBS: JSON.stringify({ exit_on_stdin_end: true, ...options.knobs }),
    },
  })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  const exited = once(child, 'exit').then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
  }))
  const origin = await Promise.race([
    originFrom(child.stdout),
    exited.then(({ code, signal }) => {
      throw new Error(`the fake engine ended before it listened (${code ?? signal}): ${errors}`)
    }),
  ])
  const control = fakeControl(origin)
  const end = async (): Promise<void> => {
    child.kill('SIGKILL')
    await exited
    for (const [, pid] of errors.matchAll(/^fake-engine: grandchild (\d+)$/gm)) killIfAlive(Number(pid))
  }
  let stopping: Promise<void> | undefined
  return {
    ...control,
    origin,
    key,
    pid: child.pid ?? 0,
    child,
    stderr: () => errors,
    exited,
    stop: () => {
      stopping ??= end()
      return stopping
    },
  }
}

async function originFrom(stdout: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: stdout })) {
    const found = /listening on (http:\S+)/.exec(line)?.[1]
    if (found !== undefined) return found
  }
  // Its stdout ended without the line: `exited` tells the reason.
  return new Promise(() => {})
}

function killIfAlive(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It had ended already.
  }
}
