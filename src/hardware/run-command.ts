import { execFile } from 'node:child_process'
import { isAbsolute } from 'node:path'
import { findProgram } from '../files/find-program.ts'

/** How a short external command went. `output` = stdout, then stderr. `missing` = no such program on PATH. */
export type CommandResult =
  | { readonly kind: 'ok'; readonly stdout: string; readonly output: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'failed'; readonly reason: string }

/** Runs a program without a shell and reads what it prints; never rejects. */
export type RunCommand = (program: string, args: readonly string[]) => Promise<CommandResult>

/** A driver that hangs must not hang `hal0 doctor`. */
const COMMAND_TIMEOUT_MS = 3_000
const MAX_OUTPUT_BYTES = 256 * 1024
/** A reason is shown and logged at every look; a program that prints garbage may print it without an end of line. */
const MAX_REASON_CHARS = 200

/**
 * The real RunCommand: English output, `timeoutMs` (3 s) at most, then SIGKILL. It does not wait for the end of what it killed: a program that
 * hangs inside a driver cannot be ended, and a child of its own may hold the pipe.
 */
export async function runCommand(
  program: string,
  args: readonly string[],
  timeoutMs = COMMAND_TIMEOUT_MS,
): Promise<CommandResult> {
  // To start what is not there holds up everything else for some milliseconds, at each look at a card that is none.
  const path = isAbsolute(program) ? program : await findProgram(program, process.env['PATH'])
  return path === undefined ? { kind: 'missing' } : await runProgram(path, args, timeoutMs)
}

function runProgram(path: string, args: readonly string[], timeoutMs: number): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = execFile(
      path,
      [...args],
      { maxBuffer: MAX_OUTPUT_BYTES, killSignal: 'SIGKILL', env: { ...process.env, LC_ALL: 'C' } },
      (error, stdout, stderr) => {
        clearTimeout(timer)
        if (error === null) return resolve({ kind: 'ok', stdout, output: stdout + stderr })
        if (error.code === 'ENOENT') return resolve({ kind: 'missing' })
        resolve({ kind: 'failed', reason: firstLine(stderr) ?? firstLine(stdout) ?? error.message })
      },
    )
    const timer = setTimeout(() => {
      resolve({ kind: 'failed', reason: `gave no answer within ${timeoutMs / 1000} s` })
      child.kill('SIGKILL')
      child.stdout?.destroy()
      child.stderr?.destroy()
      child.unref()
    }, timeoutMs)
  })
}

function firstLine(text: string): string | undefined {
  return text
    .split('\n')
    .map((line) => line.trim())
    .find((line) => line !== '')
    ?.slice(0, MAX_REASON_CHARS)
}
