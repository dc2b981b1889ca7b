// The process in which the bench's client runs: takes one job, answers with its result.
import { aborts } from './aborts.mjs'
import { paced } from './paced.mjs'
import { streams } from './streams.mjs'

/** @type {Record<string, (job: any, report: (milestone: string) => void) => Promise<unknown>>} */
const JOBS = { paced, streams, aborts }

/** The parent may be gone already; then there is nobody to tell. @param {unknown} message */
const tell = (message) => process.send?.(message, undefined, undefined, () => {})

process.on('disconnect', () => process.exit(0))
/** @param {any} job */
async function take(job) {
  try {
    const run = JOBS[job.kind]
    if (run === undefined) throw new Error(`unknown job ${job.kind}`)
    tell({ result: await run(job, (milestone) => tell({ milestone })) })
  } catch (error) {
    tell({ failure: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  }
}
process.once('message', (job) => void take(job))
