import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** The clone. */
export const repoRoot = fileURLToPath(new URL('../..', import.meta.url))
const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

export interface CliRun {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A running `hal0`. */
export interface CliChild {
  readonly process: ChildProcess
  readonly pid: number
  readonly ended: Promise<CliRun>
  /** Resolves with the match once stdout (or stderr) has it; rejects with everything said when the process ends first. */
  until(stream: 'stdout' | 'stderr', pattern: RegExp): Promise<RegExpExecArray>
}

export interface CliOptions {
  /** Stands for the person's own folder: `~` and no HAL0_… variable of the test runner's reach the child. */
  readonly userFolder: string
  readonly env?: Readonly<Record<string, string>>
  /** What is piped in; absent = an empty stdin. */
  readonly input?: string
  readonly cwd?: string
  /** Default: `node dist/cli/main.js`. */
  readonly command?: readonly [string, ...string[]]
}

/** Starts the real, built `hal0` as a child with pipes. */
export function startCli(args: readonly string[], options: CliOptions): CliChild {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(HAL0_|npm_|INIT_CWD$|NODE_OPTIONS$)/.test(name))
  const [program, ...before] = options.command ?? [process.execPath, main]
  const child = spawn(program, [...before, ...args], {
    cwd: options.cwd ?? options.userFolder,
    env: { ...Object.fromEntries(inherited), HOME: options.userFolder, ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const said = { stdout: '', stderr: '' }
  const listeners = new Set<() => void>()
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text
      for (const listener of listeners) listener()
    })
  }
  // The child may end without reading what is piped in.
  child.stdin.on('error', () => {})
  child.stdin.end(options.input ?? '')
  const ended = once(child, 'close').then(() => ({ code: child.exitCode, ...said }))
  return {
    process: child,
    pid: child.pid ?? 0,
    ended,
    until: (stream, pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const match = pattern.exec(said[stream])
          if (match === null) return
          listeners.delete(look)
          resolve(match)
        }
        listeners.add(look)
        look()
        void ended.then((run) => reject(new Error(`ended before ${pattern}: ${JSON.stringify(run)}`)))
      }),
  }
}

/** Runs `hal0` to its end. */
export function runCli(args: readonly string[], options: CliOptions): Promise<CliRun> {
  return startCli(args, options).ended
}
