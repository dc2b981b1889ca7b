import { messageOf } from '../../kernel/errors.ts'
import type { Log } from '../../kernel/log.ts'
import { SECOND_MS } from '../../kernel/units.ts'
import type { StopOutcome } from '../runtime.ts'
import type { EngineFamily } from './engine-family.ts'
import type { StopDeadline } from './stop-deadline.ts'

/** First and longest pause between two looks at whether the processes are dead. */
const POLL_FIRST_MS = 2
const POLL_LONGEST_MS = 50
/** SIGKILL is sent again, also to whoever was born meanwhile, so often. */
const KILL_AGAIN_POLLS = 10
/** /proc could not be read (no file descriptors left…): try again after so long. */
const RETRY_MS = 100
/** Killed processes usually vanish within milliseconds; one that hangs in a driver does not, and someone should know. */
const COMPLAIN_AFTER_KILLS = Math.ceil((5 * SECOND_MS) / (KILL_AGAIN_POLLS * POLL_LONGEST_MS))

/**
 * Ends an engine: SIGTERM to all of it, SIGKILL to what is left at the deadline, again and again until a look finds nobody. Waits for
 * processes only, never for their pipes or files. Never rejects. Source: SPEC 5 "Stop".
 */
export async function stopEngine(family: EngineFamily, deadline: StopDeadline, log: Log): Promise<StopOutcome> {
  let outcome: StopOutcome = !deadline.hasPassed && askAtOnce(family, log) ? 'terminated' : 'gone'
  let kills = 0
  for (;;) {
    try {
      const found = await family.look()
      if (found.members.length === 0) return outcome
      if (deadline.hasPassed) {
        outcome = 'killed'
        family.kill(found)
        kills += 1
        if (kills === COMPLAIN_AFTER_KILLS) {
          const pids = found.members.map((member) => `${member.pid} (state ${member.state})`)
          log.warn({ pids }, 'processes of the engine do not end although they were killed; hal0 goes on waiting')
        }
      } else {
        outcome = 'terminated'
        family.ask(found)
      }
      await untilDead(family, deadline)
    } catch (thrown) {
      log.warn({ reason: messageOf(thrown) }, 'looking for the processes of an engine failed; trying again')
      await deadline.pause(RETRY_MS)
    }
  }
}

/** Nothing is lost when it fails: the look that follows asks again. */
function askAtOnce(family: EngineFamily, log: Log): boolean {
  try {
    return family.askGroupNow()
  } catch (thrown) {
    log.warn({ reason: messageOf(thrown) }, 'the processes of an engine could not be asked to end before a look')
    return false
  }
}

/** Returns when all known processes are dead, when the deadline passes, or, behind it, after some polls. */
async function untilDead(family: EngineFamily, deadline: StopDeadline): Promise<void> {
  const wasPast = deadline.hasPassed
  let pauseMs = POLL_FIRST_MS
  for (let polls = 0; !family.areKnownDead(); polls += 1) {
    if (wasPast ? polls >= KILL_AGAIN_POLLS : deadline.hasPassed) return
    await deadline.pause(pauseMs)
    pauseMs = Math.min(pauseMs * 2, POLL_LONGEST_MS)
  }
}
