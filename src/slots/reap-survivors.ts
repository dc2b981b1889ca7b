import { readdir } from 'node:fs/promises'
import type { Publisher } from '../events/bus.ts'
import { type Home, slotStatesFolder } from '../files/home.ts'
import { type Clock, sleep } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'
import { SECOND_MS } from '../kernel/units.ts'
import type { RecordedProcess, Runtime } from '../runtimes/runtime.ts'
import { readStateRecord } from './state-record.ts'

/** An engine nobody leads any more gets this long to end by itself. */
const SURVIVOR_GRACE_MS = 5 * SECOND_MS

/** A process that not even SIGKILL ends (stuck in a driver) must not keep the daemon from starting. */
const GIVE_UP_MS = 15 * SECOND_MS

/**
 * Ends every engine that an earlier daemon of this home left running, and says so. Resolves when they are dead, or beyond help.
 * Until adoption exists this is what keeps memory and ports from being held by processes nobody knows.
 */
export async function reapSurvivors(
  home: Home,
  {
    runtime,
    clock,
    bus,
    log,
  }: { readonly runtime: Runtime; readonly clock: Clock; readonly bus: Publisher; readonly log: Log },
): Promise<void> {
  const survivors = await runtime.findSurvivors(await readRecordedProcesses(home, log))
  await Promise.all(
    survivors.map(async ({ slot, attemptId, process }) => {
      const { pid } = process.ref
      const givenUp = new AbortController()
      const outcome = await Promise.race([
        process.stop({ graceMs: SURVIVOR_GRACE_MS }),
        sleep(clock, GIVE_UP_MS, givenUp.signal).then(() => 'still alive' as const),
      ])
      givenUp.abort()
      const said = `an engine of slot ${slot} that an earlier daemon left running (pid ${pid}`
      const message = outcome === 'still alive' ? `could not stop ${said})` : `stopped ${said}, ${outcome})`
      log.warn({ slot, pid, attempt: attemptId, outcome }, message)
      const data = { slot, pid, outcome }
      bus.publish({ type: 'slot.survivor_stopped', severity: 'warning', source: `slot:${slot}`, message, data })
    }),
  )
}

/** Also of slots whose file is gone: their engines are not. */
async function readRecordedProcesses(home: Home, log: Log): Promise<RecordedProcess[]> {
  const slots = await readdir(slotStatesFolder(home)).catch(() => [])
  const records = await Promise.all(slots.map((slot) => readStateRecord(home, slot, log)))
  return records.flatMap((record) => {
    const { process: ref, attempt_id: attemptId } = record?.extra ?? {}
    if (record === undefined || ref === undefined || attemptId === undefined) return []
    return [{ slot: record.name, attemptId, ref }]
  })
}
