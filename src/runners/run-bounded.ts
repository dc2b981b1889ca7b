import { spawn } from 'node:child_process'
import { MIB } from '../kernel/units.ts'

/** A program that prints more is not answering the question. */
const MAX_OUTPUT_BYTES = MIB

/** After its end what it has written is there at once; only a process that it left behind keeps the pipes open longer. */
const PIPES_CLOSE_MS = 500

/** A short run of a program. */
export interface BoundedRun {
  readonly program: string
  readonly args: readonly string[]
  /** All of its environment. */
  readonly env: Readonly<Record<string, string>>
  readonly timeoutMs: number
  /** Nobody wants to know any more: it is killed at once. */
  readonly signal?: AbortSignal | undefined
}

/** What a program printed; `code` null = a signal ended it. */
export interface RunOutput {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/**
 * Runs a program that should print something and end, in its own process group, without a shell and without stdin. undefined =
 * it could not be started, printed more than 1 MiB, was not done in time or not wanted any more; its group is killed then. Never rejects.
 */
export function runBounded({ program, args, env, timeoutMs, signal }: BoundedRun): Promise<RunOutput | undefined> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve(undefined)
    const child = spawn(program, args, { env: { ...env }, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    const parts: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] }
    let bytes = 0
    let isDone = false
    const finish = (output: RunOutput | undefined): void => {
      isDone = true
      clearTimeout(timer)
      signal?.removeEventListener('abort', giveUp)
      child.stdout.destroy()
      child.stderr.destroy()
      resolve(output)
    }
    const giveUp = (): void => {
      killGroup(child.pid)
      finish(undefined)
    }
    let timer = setTimeout(giveUp, timeoutMs)
    signal?.addEventListener('abort', giveUp, { once: true })
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].on('data', (part: Buffer) => {
        bytes += part.length
        if (bytes > MAX_OUTPUT_BYTES) giveUp()
        else parts[name].push(part)
      })
    }
    child.once('error', () => finish(undefined))
    const answer = (code: number | null): void => {
      const text = (name: 'stdout' | 'stderr'): string => Buffer.concat(parts[name]).toString('utf8')
      finish({ code, stdout: text('stdout'), stderr: text('stderr') })
    }
    // 'close', not 'exit': all that was written has arrived by then.
    child.once('close', answer)
    child.once('exit', (code) => {
      if (isDone) return
      clearTimeout(timer)
      timer = setTimeout(() => {
        killGroup(child.pid)
        answer(code)
      }, PIPES_CLOSE_MS)
    })
  })
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended by itself in the meantime.
  }
}
