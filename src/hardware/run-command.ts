import { execFile } from 'node:child_process'

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

/** The real RunCommand: English output, `timeoutMs` (3 s) at most, then SIGKILL. */
export function runCommand(
  program: string,
  args: readonly string[],
  timeoutMs = COMMAND_TIMEOUT_MS,
): Promise<CommandResult> {
  return new Promise((resolve) => {
    execFile(
      program,
      [...args],
      {
        timeout: timeoutMs,
        killSignal: 'SIGKILL',
        maxBuffer: MAX_OUTPUT_BYTES,
        env: { ...process.env, LC_ALL: 'C' },
      },
      (error, stdout, stderr) => {
        if (error === null) return resolve({ kind: 'ok', stdout, output: stdout + stderr })
        if (error.code === 'ENOENT') return resolve({ kind: 'missing' })
        if (error.killed === true) {
          return resolve({ kind: 'failed', reason: `gave no answer within ${timeoutMs / 1000} s` })
        }
        resolve({ kind: 'failed', reason: firstLine(stderr) ?? firstLine(stdout) ?? error.message })
      },
    )
  })
}

function firstLine(text: string): string | undefined {
  return text
    .split('\n')
    .map((line) => line.trim())
    .find((line) => line !== '')
}
