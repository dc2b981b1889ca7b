import { setTimeout as delay } from 'node:timers/promises'
import { ClientError, UnreachableError } from '../client/client-errors.ts'
import type { LanesClient } from '../client/lanes.ts'
import type { LaneRow } from '../contract/lane.ts'
import { targetText } from './lane-words.ts'
import type { Output } from './output.ts'
import { type LaneStanding, laneStanding } from './rules/lane-standing.ts'

/** A default that takes longer is left to load by itself. */
const WAIT_MS = 60_000

/** How often it is looked at. */
const LOOK_MS = 200

/** `row` undefined = the daemon could not tell. */
export interface SettledLane {
  readonly row: LaneRow | undefined
  readonly standing: LaneStanding
}

/**
 * Waits until a lane that was just made runs what it wants, has failed to, or a minute is over (`working`); a moving line on a terminal
 * meanwhile. `patient` false = looks once.
 */
export async function waitForLane(
  lanes: Pick<LanesClient, 'show'>,
  name: string,
  output: Output,
  { patient }: { readonly patient: boolean },
): Promise<SettledLane> {
  const startedMs = performance.now()
  const passedMs = () => performance.now() - startedMs
  try {
    while (true) {
      const row = await laneNow(lanes, name)
      const standing: LaneStanding = row === undefined ? { kind: 'working' } : laneStanding(row)
      if (!patient || standing.kind !== 'working' || passedMs() >= WAIT_MS) return { row, standing }
      const what = row === undefined ? 'waiting' : `${row.phase} ${targetText(row.target)}`
      output.progress(`lane ${name}: ${what}, ${(passedMs() / 1000).toFixed(0)} s`)
      await delay(LOOK_MS)
    }
  } finally {
    output.progress(undefined)
  }
}

/** The lane is made all the same where this cannot be told. */
async function laneNow(lanes: Pick<LanesClient, 'show'>, name: string): Promise<LaneRow | undefined> {
  try {
    return await lanes.show(name)
  } catch (thrown) {
    if (thrown instanceof ClientError || thrown instanceof UnreachableError) return undefined
    throw thrown
  }
}
