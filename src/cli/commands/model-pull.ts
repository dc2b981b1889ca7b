import type { Hal0Client } from '../../client/client.ts'
import { ClientError } from '../../client/client-errors.ts'
import { errorFromBody } from '../../client/http.ts'
import type { PullJob, PullRequest } from '../../contract/pull.ts'
import { CliError, UsageError } from '../cli-error.ts'
import { connect } from '../connect.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import type { Output } from '../output.ts'
import { type PullWish, pullWishOf } from '../pull-request.ts'
import { bytesText } from '../size-text.ts'
import { watchStopSignals } from '../stop-signals.ts'

export interface PullOptions extends GlobalOptions {
  readonly id?: string
  readonly revision?: string
  /** false = begin it and end. */
  readonly wait: boolean
  readonly cancel?: string
}

/** In a pipe a line at every so many percent. */
const STEP_PERCENT = 10

/**
 * `hal0 model pull REPO[:QUANT] [FILE]`, or `--cancel ID`. JSON: the job as it ended, or as it began with --no-wait. A signal ends the
 * watching, not the job. Errors: UsageError, `interrupted`, `pull_cancelled` (CliError), those of the job.
 */
export async function modelPull(
  repo: string | undefined,
  file: string | undefined,
  options: PullOptions,
): Promise<void> {
  const output = outputOf(options)
  if (options.cancel !== undefined) {
    if (repo !== undefined) throw new UsageError('--cancel takes the id of a model and nothing else.')
    const job = await (await connect(options)).models.cancelPull(options.cancel)
    return output.result(job, () => `pull ${job.id}: ${job.state}; what is there stays for the next pull`)
  }
  const wish = pullWishOf(repo, file, options)
  const client = await connect(options)
  const begun = await begin(client, wish, output).catch(async (thrown: unknown) => {
    throw (await isUnknownWord(client, wish, repo)) ? noRepository(wish.id) : thrown
  })
  if (!options.wait) {
    return output.result(begun, () => `pull ${begun.id}: begun; \`hal0 model pull --id ${begun.id}\` watches it`)
  }
  const job = await watch(client, begun, output)
  if (job.state === 'failed' && job.error !== null) throw errorFromBody(job.error, 0, null)
  if (job.state === 'cancelled') throw new CliError('pull_cancelled', `The pull of ${job.id} was cancelled.`)
  if (job.state !== 'done') throw stillRuns(job.id, 'The daemon stopped telling how far the pull is')
  output.result(
    job,
    () => `model ${job.id} is here (${bytesText(job.done_bytes)}); next: hal0 slot create NAME --model ${job.id}`,
  )
}

/** Was one word typed that is neither a repository nor a model? The daemon says only that it knows no repository for it. */
async function isUnknownWord(client: Hal0Client, { request }: PullWish, word: string | undefined): Promise<boolean> {
  if (word === undefined || request.repo !== undefined) return false
  return client.models.show(word).then(
    () => false,
    (thrown: unknown) => thrown instanceof ClientError && thrown.code === 'model.not_found',
  )
}

function noRepository(word: string): UsageError {
  return new UsageError(
    `${JSON.stringify(word)} is no repository and no model that was pulled before: expected ORG/NAME.`,
    'Write for example: hal0 model pull org/name-GGUF:Q4_K_M',
  )
}

/** One that runs already is watched, when it is what was asked for. */
async function begin(client: Hal0Client, { id, request }: PullWish, output: Output): Promise<PullJob> {
  try {
    return await client.models.pull(id, request)
  } catch (thrown) {
    if (!(thrown instanceof ClientError) || thrown.code !== 'pull.in_progress') throw thrown
    const job = await client.models.pullState(id).catch(() => undefined)
    if (job === undefined || !isAsked(request, job)) throw thrown
    output.note(`pull ${id}: runs already`)
    return job
  }
}

/** Is the job what was asked for, as far as it can be told? */
function isAsked({ repo, file, quant }: PullRequest, job: PullJob): boolean {
  const has = (word: string) => job.files.some((path) => path.toLowerCase().includes(word.toLowerCase()))
  return (repo === undefined || repo === job.repo) && [file, quant].every((word) => word === undefined || has(word))
}

async function watch(client: Hal0Client, begun: PullJob, output: Output): Promise<PullJob> {
  const signal = watchStopSignals().first
  let job = begun
  let told = ''
  try {
    for await (job of client.models.followPull(begun.id, { signal })) {
      output.progress(progressText(job))
      const step = `${job.state} ${Math.floor(percentOf(job) / STEP_PERCENT)}`
      if (step !== told && !output.json) output.step(progressText(job))
      told = step
    }
  } catch (thrown) {
    if (!signal.aborted) throw thrown
    throw stillRuns(begun.id, 'Stopped watching')
  } finally {
    output.progress(undefined)
  }
  return job
}

function stillRuns(id: string, why: string): CliError {
  return new CliError(
    'interrupted',
    `${why}; the pull of ${id} goes on.`,
    `\`hal0 model pull --cancel ${id}\` stops it, \`hal0 model pull --id ${id}\` watches it again.`,
  )
}

function percentOf({ done_bytes, total_bytes }: PullJob): number {
  return total_bytes === null || total_bytes === 0 ? 0 : (done_bytes / total_bytes) * 100
}

function progressText(job: PullJob): string {
  const { id, state, done_bytes: doneBytes, total_bytes: totalBytes, bytes_per_second: speed, resumes } = job
  const share = totalBytes === null ? '' : ` of ${bytesText(totalBytes)} (${Math.floor(percentOf(job))} %)`
  const rate = state === 'running' && speed !== null ? `, ${bytesText(speed)}/s` : ''
  const again = resumes === 0 ? '' : `, taken up again ${resumes === 1 ? 'once' : `${resumes} times`}`
  return `pull ${id}: ${state === 'running' ? '' : `${state}, `}${bytesText(doneBytes)}${share}${rate}${again}`
}
