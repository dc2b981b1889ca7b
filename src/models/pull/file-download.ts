import { type Clock, sleep } from '../../kernel/clock.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import type { Log } from '../../kernel/log.ts'
import { isoTime, MIB } from '../../kernel/units.ts'
import type { Hub, HubRepo } from './hub.ts'
import { describeLoss } from './hub-http.ts'
import { PartFile } from './part-file.ts'
import type { HubFile } from './rules/hub-file.ts'
import { type AnswerHead, judgeAnswer } from './rules/judge-answer.ts'
import { nextAttempt } from './rules/next-attempt.ts'
import { type StoredFile, verifyExisting } from './stored-file.ts'

/** So often the space on the disk is looked at again: others fill it too. */
const SPACE_CHECK_BYTES = 64 * MIB

/** What a download needs from the pull it belongs to. */
export interface DownloadHost {
  readonly hub: Hub
  readonly clock: Clock
  readonly log: Log
  /** Bytes of this file that are on disk now. */
  onDisk(bytes: number): void
  /** Bytes that came over the network, in addition to earlier ones. */
  onReceived(bytes: number): void
  /** The connection is taken up again. */
  onResume(): void
  onState(state: 'running' | 'verifying'): void
  /** Is there room for all that is still to come? Errors: `model.insufficient_disk`. */
  checkSpace(): Promise<void>
  /** The file as the hub lists it now. Errors: `validation.invalid` (it is gone), `hub.unreachable`. */
  relist(): Promise<HubFile>
}

/** How an attempt ended, when the file is not complete. */
interface Shortfall {
  readonly reason: string
  readonly isChanged: boolean
  /** The server asks for a pause; 0 = it does not. */
  readonly waitMs: number
}

/** One file, from the hub (or what an earlier pull left) to its final name. */
export class FileDownload {
  readonly #host: DownloadHost
  readonly #at: HubRepo
  readonly #target: string
  #file: HubFile
  #part: PartFile | undefined
  /** The most that was ever on disk of this version. */
  #bestBytes = 0
  #barren = 0
  #changes = 0

  constructor(host: DownloadHost, at: HubRepo, file: HubFile, target: string) {
    this.#host = host
    this.#at = at
    this.#file = file
    this.#target = target
  }

  /**
   * Rejects with `signal.reason` after an abort; what is on disk stays then, and after all errors but a wrong checksum.
   * Errors: `hub.unreachable`, `pull.checksum_mismatch`, `model.insufficient_disk`, `validation.invalid` (gone from the hub), `internal`.
   */
  async run(signal: AbortSignal): Promise<StoredFile> {
    try {
      this.#host.onState('verifying')
      const existing = await verifyExisting(this.#target, this.#file, signal)
      if (existing !== undefined) {
        this.#host.onDisk(existing.sizeBytes)
        return existing
      }
      this.#part = await PartFile.find(this.#target, this.#file)
      await this.#part?.hashExisting(signal)
      this.#bestBytes = this.#part?.sizeBytes ?? 0
      this.#host.onDisk(this.#bestBytes)
      while (!this.#isComplete()) {
        this.#host.onState('running')
        await this.#fetch(signal)
      }
      this.#host.onState('verifying')
      return await this.#finish(signal)
    } finally {
      await this.#part?.close()
    }
  }

  #isComplete(): boolean {
    return this.#part !== undefined && this.#part.sizeBytes === this.#file.sizeBytes
  }

  async #fetch(signal: AbortSignal): Promise<void> {
    await this.#host.checkSpace()
    const shortfall = await this.#attempt(signal)
    if (shortfall === undefined) return
    const onDiskBytes = this.#part?.sizeBytes ?? 0
    const progressed = onDiskBytes > this.#bestBytes
    this.#bestBytes = Math.max(this.#bestBytes, onDiskBytes)
    this.#barren = progressed ? 0 : this.#barren + 1
    if (shortfall.isChanged) {
      this.#changes++
      await this.#startOver()
      this.#bestBytes = 0
    }
    const { reason, waitMs } = shortfall
    const next = nextAttempt({ progressed, barren: this.#barren, changes: this.#changes, waitMs })
    const facts = { file: this.#file.path, on_disk_bytes: onDiskBytes, reason, next }
    this.#host.log.info(facts, 'the download of a model file was interrupted')
    if (next.kind === 'give_up') throw this.#host.hub.unreachable(this.#at, this.#file.path, reason)
    await sleep(this.#host.clock, next.delayMs, signal)
    signal.throwIfAborted()
    if (shortfall.isChanged) this.#file = await this.#host.relist()
    this.#host.onResume()
  }

  /** Undefined = the file is complete. */
  async #attempt(signal: AbortSignal): Promise<Shortfall | undefined> {
    const { hub } = this.#host
    let answer: Awaited<ReturnType<Hub['open']>>
    try {
      answer = await hub.open(this.#at, this.#file.path, { method: 'GET', headers: this.#rangeHeaders() }, signal)
    } catch (cause) {
      signal.throwIfAborted()
      return { reason: describeLoss(cause), isChanged: false, waitMs: 0 }
    }
    try {
      const offsetBytes = this.#part?.sizeBytes ?? 0
      const want = { offsetBytes, ...this.#file, tag: this.#part?.facts.etag ?? null }
      const judgement = judgeAnswer(want, answer.head)
      switch (judgement.kind) {
        case 'append':
          return await this.#receive(answer.chunks, await this.#partFor(answer.head), judgement.bytes, signal)
        case 'begin':
          await this.#startOver()
          return await this.#receive(answer.chunks, await this.#partFor(answer.head), this.#file.sizeBytes, signal)
        case 'refused':
          throw await hub.refusalOf(this.#at, this.#file.path, answer)
        case 'busy':
        case 'changed':
        case 'faulty':
          return {
            reason: judgement.reason,
            isChanged: judgement.kind === 'changed',
            waitMs: judgement.kind === 'busy' ? judgement.waitMs : 0,
          }
      }
    } finally {
      answer.close()
    }
  }

  #rangeHeaders(): Readonly<Record<string, string>> {
    if (this.#part === undefined || this.#part.sizeBytes === 0) return {}
    const { etag } = this.#part.facts
    // The hub's own tag is not the delivering server's: it is compared when the answer comes.
    const condition = etag?.kind === 'strong' ? { 'if-range': `"${etag.value}"` } : {}
    return { range: `bytes=${this.#part.sizeBytes}-`, ...condition }
  }

  async #partFor({ tag }: AnswerHead): Promise<PartFile> {
    this.#part ??= await PartFile.create(this.#target, {
      url: this.#host.hub.urlOf(this.#at, this.#file.path),
      etag: tag,
      size_bytes: this.#file.sizeBytes,
      sha256: this.#file.sha256,
      started_at: isoTime(this.#host.clock.nowMs()),
    })
    return this.#part
  }

  async #startOver(): Promise<void> {
    await this.#part?.discard()
    this.#part = undefined
    this.#host.onDisk(0)
  }

  /** Writes a body that was promised to have so many bytes. */
  async #receive(
    chunks: AsyncIterable<Buffer>,
    part: PartFile,
    promisedBytes: number,
    signal: AbortSignal,
  ): Promise<Shortfall | undefined> {
    const goBack = part.mark()
    let receivedBytes = 0
    let uncheckedBytes = 0
    let reason = ''
    try {
      for await (const chunk of chunks) {
        receivedBytes += chunk.length
        if (receivedBytes > promisedBytes) {
          // Who sends more than there is sends something else.
          await goBack()
          this.#host.onDisk(part.sizeBytes)
          return { reason: `more than the promised ${promisedBytes} bytes came`, isChanged: false, waitMs: 0 }
        }
        await part.append(chunk)
        this.#host.onReceived(chunk.length)
        this.#host.onDisk(part.sizeBytes)
        uncheckedBytes += chunk.length
        if (uncheckedBytes >= SPACE_CHECK_BYTES) {
          uncheckedBytes = 0
          await this.#host.checkSpace()
        }
      }
    } catch (cause) {
      signal.throwIfAborted()
      if (cause instanceof Hal0Error) throw cause
      reason = describeLoss(cause)
    }
    if (this.#isComplete()) return undefined
    if (reason === '') reason = `${receivedBytes} of the promised ${promisedBytes} bytes came`
    return { reason, isChanged: false, waitMs: 0 }
  }

  async #finish(signal: AbortSignal): Promise<StoredFile> {
    const part = this.#part
    if (part === undefined) throw Hal0Error.of('internal', `no part of ${this.#target} is there to finish`)
    signal.throwIfAborted()
    const { path, sizeBytes, sha256: expected } = this.#file
    const sha256 = part.sha256()
    if (expected !== null && sha256 !== expected) {
      await part.discard()
      this.#host.onDisk(0)
      throw Hal0Error.of(
        'pull.checksum_mismatch',
        `${path} arrived with sha256 ${sha256}, the hub lists ${expected}: it was deleted`,
        { details: { repo: this.#at.repo, file: path, expected, actual: sha256, size_bytes: sizeBytes } },
      )
    }
    await part.finish()
    return { sizeBytes, sha256 }
  }
}
