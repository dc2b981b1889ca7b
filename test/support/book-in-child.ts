import Sqlite from 'better-sqlite3'
import { laneConfigSchema } from '../../src/contract/lane-config.ts'
import { reservationRequestSchema } from '../../src/contract/reservation.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { silentLog } from '../../src/kernel/log.ts'
import { HOUR_MS, isoTime, SECOND_MS } from '../../src/kernel/units.ts'
import { createBookings } from '../../src/lanes/bookings/create-bookings.ts'
import { people, root } from './bookings-world.ts'

/**
 * Books `count` hours of gpu0, one after the other, from within another process: says `ready`, waits for a line, then says `made` or the
 * error's code of each. `nowMs`: the wall clock, epoch ms.
 */
export async function bookHours(path: string, nowMs: number, startMs: number, count: number): Promise<void> {
  const db = new Sqlite(path, { timeout: 20 })
  const config = laneConfigSchema.parse({})
  const { bookings } = createBookings({
    db,
    clock: { ...systemClock, nowMs: () => nowMs },
    log: silentLog,
    people,
    publish: () => {},
    notices: { tell: () => {} },
    lane: () => ({ config, defaultTarget: { kind: 'model', model: 'org/a', profile: 'chat' } }),
    lanes: () => ['gpu0'],
    isStarting: () => false,
    resolveTarget: async (_lane, model, profile = 'chat') => ({ model, profile }),
    estimateMs: () => SECOND_MS,
    exceedsVram: async () => false,
  })
  const said: string[] = []
  process.stdout.write('ready\n')
  await new Promise((resolve) => process.stdin.once('data', resolve))
  for (let n = 0; n < count; n++) {
    const request = reservationRequestSchema.parse({ lane: 'gpu0', start: isoTime(startMs + n * HOUR_MS), minutes: 60 })
    said.push(
      await bookings.create(request, root).then(
        () => 'made',
        (error: unknown) => String(error instanceof Error && 'code' in error ? error.code : error),
      ),
    )
    await new Promise((resolve) => setImmediate(resolve))
  }
  db.close()
  process.stdout.write(`${said.join('\n')}\n`)
  process.stdin.destroy()
}
