// The timetable: what a lane's tick, a booking and a request cost with 200 lanes and 50,000 reservations, beside a single lane with its share of them.
import { runJob } from '../lib/work.mjs'

const LANES = 200
const PER_LANE = 250

/** @type {import('../lib/line.mjs').Line} */
export const scheduler = {
  key: 'scheduler',
  title: `timetable, ${LANES} lanes with ${(LANES * PER_LANE).toLocaleString('en-US')} reservations`,
  measure: async ({ schedulerRounds }, bench) => {
    await bench.end()
    const job = { kind: 'scheduler', dist: bench.dist, rounds: schedulerRounds, many: LANES, perLane: PER_LANE }
    const { one, all, openMs } = await runJob(job)
    const facts = { lanes: LANES, reservations: LANES * PER_LANE, open_ms: openMs }
    return { sides: { 'one lane': one, hal0: all }, errors: {}, facts }
  },
}
