import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { argvOf, type LaunchPlan } from '../../contract/launch-plan.ts'
import type { Clock } from '../../kernel/clock.ts'
import { isoTime } from '../../kernel/units.ts'
import { type ExitWatch, watchChild } from './engine-exit.ts'
import { openLog } from './log-file.ts'
import { readProcStat } from './proc.ts'
import { markerLine } from './rules/log-marker.ts'
import { logFailure, spawnFailure } from './spawn-failure.ts'

export interface SpawnRequest {
  readonly plan: LaunchPlan
  readonly attemptId: string
  /** The whole environment of the engine. */
  readonly env: Readonly<Record<string, string>>
  readonly logPath: string
}

export interface SpawnedEngine {
  readonly pid: number
  readonly startTicks: number
  readonly watch: ExitWatch
}

/** Engines do not stand in whatever folder the daemon was started in: it could not be removed or unmounted. */
const WORKING_FOLDER = '/'

/**
 * Starts a plan's program as leader of its own session and process group, with nothing open but /dev/null and its log, so that it
 * outlives the daemon. Errors: `slot.spawn_failed`. Source: SPEC 10 "process".
 */
export async function spawnEngine(request: SpawnRequest, clock: Clock): Promise<SpawnedEngine> {
  const { plan, env, logPath } = request
  const [named, ...args] = argvOf(plan)
  // A path with a slash in it means what it meant to the daemon, although the engine starts elsewhere.
  const program = named.includes('/') ? resolve(named) : named
  const log = await openLog(logPath).catch((thrown: unknown) => {
    throw logFailure(plan.slot, program, logPath, thrown)
  })
  try {
    const startedAt = isoTime(clock.nowMs())
    const marker = markerLine({ slot: plan.slot, attemptId: request.attemptId, startedAt })
    // A full disk is no reason not to serve.
    await log.appendFile(marker).catch(() => {})
    const child = spawn(program, args, {
      cwd: WORKING_FOLDER,
      detached: true,
      env,
      shell: false,
      stdio: ['ignore', log.fd, log.fd],
    })
    if (child.pid === undefined) throw await startError(child)
    child.on('error', () => {})
    child.unref()
    // Both before the event loop turns: an engine that fails at once would be gone, and its exit told to nobody.
    return { pid: child.pid, startTicks: startTicksOf(child.pid), watch: watchChild(child, clock) }
  } catch (thrown) {
    throw await spawnFailure(plan.slot, program, env['PATH'] ?? '', thrown)
  } finally {
    await log.close()
  }
}

/** Node reports most failed starts by this event, some by throwing. */
async function startError(child: ChildProcess): Promise<unknown> {
  const [error]: unknown[] = await once(child, 'error')
  return error
}

/** Until the event loop turns, even a process that has ended is still in /proc. */
function startTicksOf(pid: number): number {
  try {
    const stat = readProcStat(pid)
    if (stat !== undefined) return stat.startTicks
    throw new Error('/proc does not show the new process; hal0 needs /proc')
  } catch (thrown) {
    // Without this number it could not be stopped safely later.
    process.kill(-pid, 'SIGKILL')
    throw thrown
  }
}
