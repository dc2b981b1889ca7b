import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Workflow } from '../../src/runners/comfy/rules/build-workflow.ts'

/** Absolute path of the fake ComfyUI's program; it takes `--listen` and `--port`. */
export const FAKE_COMFY = fileURLToPath(new URL('../fake-comfy/fake-comfy.mjs', import.meta.url))

/** Any knobs of test/fake-comfy/README.md; a misspelt one is refused. */
export type ComfyKnobs = Readonly<Record<string, unknown>>

export type ComfyCounter =
  | 'requests'
  | 'prompts'
  | 'renders'
  | 'deleted'
  | 'frees'
  | 'interrupts'
  | 'running'
  | 'pending'
  | 'views'

/** What GET /fake/state says. */
export interface ComfyState {
  readonly pid: number
  readonly argv: readonly string[]
  readonly counters: Readonly<Record<ComfyCounter, number>>
  /** Every graph that was taken, oldest first. */
  readonly graphs: readonly Workflow[]
  readonly free_bodies: readonly unknown[]
  readonly history_ids: readonly string[]
  /** When diffusion models came into memory (`holds`) and left it, oldest first; `renders`: a render ran at that moment. */
  readonly memory_log: readonly { readonly at_ms: number; readonly holds: boolean; readonly renders: boolean }[]
}

/** The control routes of a fake ComfyUI, wherever it was started. */
export interface ComfyControl {
  state(): Promise<ComfyState>
  setKnobs(knobs: ComfyKnobs): Promise<void>
  /** Resolves when the counter has reached `min`; rejects after 10 s. */
  waitFor(counter: ComfyCounter, min: number): Promise<ComfyState>
}

/** How tests look inside the fake ComfyUI at `origin`. */
export function comfyControl(origin: string): ComfyControl {
  const call = async (path: string, body?: unknown): Promise<ComfyState> => {
    const answer = await fetch(`${origin}/fake/${path}`, {
      headers: { connection: 'close' },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`fake comfy: ${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as ComfyState
  }
  return {
    state: () => call('state'),
    setKnobs: async (knobs) => void (await call('knobs', knobs)),
    waitFor: (counter, min) => call(`wait?counter=${counter}&min=${min}`),
  }
}

export interface FakeComfy extends ComfyControl {
  readonly origin: string
  readonly pid: number
  /** Ends it for sure; idempotent. */
  stop(): Promise<void>
}

/** Starts a fake ComfyUI on a free port and waits until it listens. It also ends when the test process dies. */
export async function startFakeComfy(knobs: ComfyKnobs = {}): Promise<FakeComfy> {
  const child = spawn(process.execPath, [FAKE_COMFY, '--listen', '127.0.0.1', '--port', '0'], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], COMFY_KNOBS: JSON.stringify({ exit_on_stdin_end: true, ...knobs }) },
  })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  const exited = once(child, 'exit')
  const origin = await Promise.race([
    originFrom(child.stdout),
    exited.then((): never => {
      throw new Error(`the fake comfy ended before it listened: ${errors}`)
    }),
  ])
  return {
    ...comfyControl(origin),
    origin,
    pid: child.pid ?? 0,
    async stop() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

async function originFrom(stdout: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: stdout })) {
    const found = /listening on (http:\S+)/.exec(line)?.[1]
    if (found !== undefined) return found
  }
  return new Promise(() => {})
}
