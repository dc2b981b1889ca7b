import type { ErrorBody } from '../../contract/error-body.ts'
import type { PullJob } from '../../contract/pull.ts'
import type { Clock } from '../../kernel/clock.ts'
import { isoTime, SECOND_MS } from '../../kernel/units.ts'
import { keepSamples, type RateSample, transferRate } from './rules/transfer-rate.ts'

/** Four a second. */
const MIN_GAP_MS = SECOND_MS / 4

/** While nothing comes, the rate falls: a follower is told so often. */
const MAX_GAP_MS = SECOND_MS

interface FileProgress {
  readonly path: string
  sizeBytes: number
  onDiskBytes: number
}

/** What is known of one pull, from its start to its end; whoever follows is told of changes. */
export class RunningPull {
  readonly id: string
  /** Aborts the work; the reason is for nobody. */
  readonly stop = new AbortController()
  readonly #clock: Clock
  readonly #startedMs: number
  readonly #listeners = new Set<() => void>()
  #state: PullJob['state'] = 'running'
  #version = 0
  #repo = ''
  #files: readonly FileProgress[] | null = null
  #resumes = 0
  #finishedMs: number | null = null
  #error: ErrorBody['error'] | null = null
  #receivedBytes = 0
  #samples: readonly RateSample[] = []

  constructor(id: string, clock: Clock) {
    this.id = id
    this.#clock = clock
    this.#startedMs = clock.nowMs()
  }

  get isOver(): boolean {
    return this.#finishedMs !== null
  }

  get job(): PullJob {
    const files = this.#files ?? []
    const nowMs = this.#clock.monotonicMs()
    return {
      id: this.id,
      state: this.#state,
      repo: this.#repo,
      files: files.map(({ path }) => path),
      total_bytes: this.#files === null ? null : files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
      done_bytes: files.reduce((sum, { onDiskBytes }) => sum + onDiskBytes, 0),
      bytes_per_second: this.#state === 'running' ? transferRate(this.#samples, this.#receivedBytes, nowMs) : null,
      resumes: this.#resumes,
      started_at: isoTime(this.#startedMs),
      finished_at: this.#finishedMs === null ? null : isoTime(this.#finishedMs),
      error: this.#error,
    }
  }

  /** Bytes that are still to come. */
  get restBytes(): number {
    return (this.#files ?? []).reduce(
      (sum, { sizeBytes, onDiskBytes }) => sum + Math.max(0, sizeBytes - onDiskBytes),
      0,
    )
  }

  setRepo(repo: string): void {
    this.#repo = repo
  }

  setFiles(
    files: readonly { readonly path: string; readonly sizeBytes: number; readonly onDiskBytes: number }[],
  ): void {
    this.#files = files.map((file) => ({ ...file }))
    this.#changed()
  }

  setFileSize(path: string, sizeBytes: number): void {
    for (const file of this.#files ?? []) if (file.path === path) file.sizeBytes = sizeBytes
    this.#changed()
  }

  setOnDisk(path: string, bytes: number): void {
    for (const file of this.#files ?? []) if (file.path === path) file.onDiskBytes = bytes
    this.#changed()
  }

  addReceived(bytes: number): void {
    const atMs = this.#clock.monotonicMs()
    const lastMs = this.#samples.at(-1)?.atMs
    if (lastMs === undefined || atMs - lastMs >= MIN_GAP_MS) {
      this.#samples = keepSamples([...this.#samples, { atMs, bytes: this.#receivedBytes }], atMs)
    }
    this.#receivedBytes += bytes
  }

  addResume(): void {
    this.#resumes++
    this.#changed()
  }

  setState(state: 'running' | 'verifying'): void {
    if (this.isOver || this.#state === state) return
    this.#state = state
    this.#changed()
  }

  /** The end. A second one changes nothing. */
  end(state: 'done' | 'cancelled'): void
  end(state: 'failed', error: ErrorBody['error']): void
  end(state: 'done' | 'cancelled' | 'failed', error: ErrorBody['error'] | null = null): void {
    if (this.isOver) return
    this.#state = state
    this.#error = error
    this.#finishedMs = this.#clock.nowMs()
    this.#changed()
  }

  /** Source: `Pulls.follow`. */
  async *follow(signal: AbortSignal): AsyncGenerator<PullJob, void, void> {
    while (!signal.aborted) {
      const seen = this.#version
      const { job } = this
      yield job
      if (job.state !== 'running' && job.state !== 'verifying') return
      // What happened while the follower was busy is told in the next turn.
      if (this.#version === seen) await this.#pause(MAX_GAP_MS, signal, 'change')
      await this.#pause(MIN_GAP_MS, signal, 'end')
    }
  }

  /** Resolves after the delay, or before it with the next change, with the end of the pull, or with `signal`. */
  #pause(delayMs: number, signal: AbortSignal, until: 'change' | 'end'): Promise<void> {
    if (signal.aborted || this.isOver) return Promise.resolve()
    return new Promise((resolve) => {
      const done = (): void => {
        cancel()
        this.#listeners.delete(look)
        signal.removeEventListener('abort', done)
        resolve()
      }
      const look = (): void => {
        if (until === 'change' || this.isOver) done()
      }
      const cancel = this.#clock.setTimer(delayMs, done)
      this.#listeners.add(look)
      signal.addEventListener('abort', done, { once: true })
    })
  }

  #changed(): void {
    this.#version++
    for (const listener of [...this.#listeners]) listener()
  }
}
