import { lstat, stat } from 'node:fs/promises'
import { allFilesOf, firstFileOf, modelFilesOf, readModelRows } from '../../config/models/models-file.ts'
import type { ErrorBody } from '../../contract/error-body.ts'
import type { ModelFacts } from '../../contract/model.ts'
import type { PullJob } from '../../contract/pull.ts'
import type { Home } from '../../files/home.ts'
import { type ErrorCode, errorRegistry } from '../../kernel/error-registry.ts'
import { Hal0Error, type RetryableCode, toHal0Error } from '../../kernel/errors.ts'
import { checkModelFiles } from '../../models/gguf-facts.ts'
import type { Pulls } from '../../models/pull/pulls.ts'
import { describePull } from '../rules/describe-pull.ts'

/** Files of a model that are not there. */
export interface MissingReport {
  /** Absolute paths, in the order of the row; empty = all are there (or the model is a folder). */
  readonly missing: readonly string[]
  /** Can a pull bring all of them? */
  readonly isPullable: boolean
}

/** A model whose files a pull can bring. */
export interface MissingModel {
  /** What is fetched, for people: `org/name`. */
  readonly what: string
  /**
   * Begins the pull of the model, or joins the one that runs; resolves when its files are there. `onProgress` is told in one line how far it
   * is, whenever that line changes. An abort rejects with the signal's reason; the pull goes on, as others may wait for it.
   * Errors: those of the pull as they are; `slot.model_missing` (it was cancelled, or brought other files than the row names).
   */
  fetch(signal: AbortSignal, onProgress: (message: string) => void): Promise<void>
}

/** What a load asks before it starts an engine: is something to be fetched first? Source: SPEC 4 `pulling`, 5. */
export interface MissingFiles {
  /**
   * Undefined = nothing is to be fetched: all is there, or no pull can bring what is missing, or there is no such model; the launch says
   * so. Errors: `config.invalid`.
   */
  find(modelId: string): Promise<MissingModel | undefined>
}

/** The pull that is waited for may be another model's that needs the same files, and then our own is begun. */
const MAX_ROUNDS = 3

/**
 * Which files of this model are not there, and can a pull bring them? It can where the row says which file of which repository it is, and what is missing is
 * parts of the model or its projector: a pull of the whole model brings both. It cannot bring a drafter, a chat template, a projector
 * alone (the model would be fetched again for it), or what is there and cannot be read.
 */
export async function missingFiles(row: ModelFacts): Promise<MissingReport> {
  const model = modelFilesOf(row)
  const isFolder = await stat(firstFileOf(row)).then(
    (facts) => facts.isDirectory(),
    () => false,
  )
  const missing = await checkModelFiles(allFilesOf(row).filter((file) => !isFolder || !model.includes(file)))
  const there = await Promise.all(missing.map((file) => lstat(file).catch(() => undefined)))
  const isKnown = row.hf_repo !== undefined && row.hf_filename !== undefined
  const isBrought = missing.every((file) => model.includes(file) || file === row.mmproj)
  const hasGone = missing.some((file) => model.includes(file)) && there.every((facts) => facts === undefined)
  return { missing, isPullable: isKnown && isBrought && hasGone }
}

/** `pulls` is asked for when it is needed: slots are made before the pulls. */
export function createMissingFiles(home: Home, pulls: () => Pick<Pulls, 'start' | 'follow'>): MissingFiles {
  const report = async (id: string): Promise<(MissingReport & { readonly repo: string }) | undefined> => {
    const row = (await readModelRows(home)).get(id)
    return row === undefined ? undefined : { ...(await missingFiles(row)), repo: row.hf_repo ?? '' }
  }

  async function fetch(id: string, signal: AbortSignal, onProgress: (message: string) => void): Promise<void> {
    let told = ''
    const tell = (job: PullJob): void => {
      const message = describePull(job)
      if (message !== told) onProgress(message)
      told = message
    }
    for (let round = 1; round <= MAX_ROUNDS; round++) {
      const { waitedFor, isOwn } = await startOrJoin(pulls(), id, signal)
      const job = await followToEnd(pulls(), waitedFor, signal, tell)
      if (job !== undefined && waitedFor === id && job.error !== null) throw errorOf(job.error)
      if (job !== undefined && waitedFor === id && job.state === 'cancelled') throw cancelled(id)
      const left = (await report(id))?.missing ?? []
      if (left.length === 0) return
      if (isOwn && job !== undefined) throw otherFiles(id, left)
    }
    throw otherFiles(id, (await report(id))?.missing ?? [])
  }

  return {
    find: async (id) => {
      const found = await report(id)
      if (found === undefined || !found.isPullable) return undefined
      return { what: found.repo, fetch: (signal, onProgress) => fetch(id, signal, onProgress) }
    },
  }
}

/** `waitedFor`: the model whose pull it is. */
async function startOrJoin(
  pulls: Pick<Pulls, 'start'>,
  id: string,
  signal: AbortSignal,
): Promise<{ readonly waitedFor: string; readonly isOwn: boolean }> {
  try {
    await unlessAborted(pulls.start(id, {}), signal)
    return { waitedFor: id, isOwn: true }
  } catch (cause) {
    if (signal.aborted) throw cause
    const error = toHal0Error(cause)
    const owner = error.details?.['model']
    if (error.code !== 'pull.in_progress' || typeof owner !== 'string') throw cause
    return { waitedFor: owner, isOwn: false }
  }
}

/** The job as it ended; undefined = it never came about. */
async function followToEnd(
  pulls: Pick<Pulls, 'follow'>,
  id: string,
  signal: AbortSignal,
  tell: (job: PullJob) => void,
): Promise<PullJob | undefined> {
  let last: PullJob | undefined
  try {
    for await (const job of pulls.follow(id, signal)) {
      signal.throwIfAborted()
      last = job
      if (job.finished_at === null) tell(job)
    }
  } catch (cause) {
    if (signal.aborted || toHal0Error(cause).code !== 'model.not_found') throw cause
  }
  signal.throwIfAborted()
  return last
}

/** The work goes on; only nobody waits for it here. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(toError(signal.reason))
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  })
}

function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason))
}

/** A pull tells its error as the API does; those who wait for it get the error itself. */
function errorOf({ code, message, param, details }: ErrorBody['error']): Hal0Error {
  const options = { ...(param === null ? {} : { param }), details }
  if (!isErrorCode(code)) return Hal0Error.of('internal', message, options)
  const retryAfterS = details['retry_after_s']
  if (typeof retryAfterS !== 'number') return Hal0Error.of(code as 'internal', message, options)
  return Hal0Error.of(code as RetryableCode, message, { ...options, retryAfterS })
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorRegistry, code)
}

function cancelled(id: string): Hal0Error {
  return Hal0Error.of('slot.model_missing', `the pull of model "${id}" was cancelled before its files were there`, {
    details: { model: id, remedy: `Fetch it: \`hal0 model pull ${id}\`, or load the slot again.` },
  })
}

function otherFiles(id: string, missing: readonly string[]): Hal0Error {
  const list = missing.join(', ')
  return Hal0Error.of('slot.model_missing', `model "${id}" was pulled, and still these files are not there: ${list}`, {
    details: { model: id, missing, remedy: 'Correct the row: `hal0 config edit models`; `hal0 model show` shows it.' },
  })
}
