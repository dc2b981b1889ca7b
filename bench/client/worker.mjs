// The process in which the bench's client runs, or a timetable: takes one job, answers with its result.
import { scheduler } from '../scheduler/measure.mjs'
import { aborts } from './aborts.mjs'
import { flood } from './flood.mjs'
import { held } from './held.mjs'
import { paced } from './paced.mjs'
import { stalled } from './stalled.mjs'
import { streams } from './streams.mjs'
import { upload } from './upload.mjs'

/** @typedef {{ ask: (milestone: string) => Promise<void> }} Parent Tells how far we are; resolves when we may go on. */

/** @type {Record<string, (job: any, parent: Parent) => Promise<unknown>>} */
const JOBS = { aborts, flood, held, paced, scheduler, stalled, streams, upload }

/** The parent may be gone already; then there is nobody to tell. @param {unknown} message */
const tell = (message) => process.send?.(message, undefined, undefined, () => {})

/** @type {Parent} */
const parent = {
  ask: (milestone) =>
    new Promise((resolve) => {
      process.once('message', () => resolve())
      tell({ milestone })
    }),
}

process.on('disconnect', () => process.exit(0))
/** @param {any} job */
async function take(job) {
  try {
    const run = JOBS[job.kind]
    if (run === undefined) throw new Error(`unknown job ${job.kind}`)
    tell({ result: await run(job, parent) })
  } catch (error) {
    tell({ failure: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  }
}
process.once('message', (job) => void take(job))
