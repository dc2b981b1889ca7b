import { createHash, type Hash } from 'node:crypto'
import { constants, type FileHandle, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import { writeFileWhole } from '../../files/atomic-write.ts'
import { hashInto } from './hash-file.ts'
import type { HubFile } from './rules/hub-file.ts'
import { type ContentTag, isResumable } from './rules/judge-answer.ts'
import { storeError, syncFolder } from './store-files.ts'

/** Names of parts, of what stands beside them, and of what an interrupted write of that leaves. Nothing else is ever swept. */
export const PART_NAME = /\.[0-9a-f]{16}\.part(?:\.json(?:\.\d+)?)?$/

const partFactsSchema = z.strictObject({
  url: z.string(),
  /** Null = the server gave none. */
  etag: z.strictObject({ value: z.string(), kind: z.enum(['linked', 'strong', 'weak']) }).nullable(),
  size_bytes: z.number().int().nonnegative(),
  sha256: z.string().nullable(),
  started_at: z.string(),
})

/** What stands beside a part. */
export type PartFacts = z.output<typeof partFactsSchema>

/** A file on its way: `<target>.<hash of its etag>.part`, with its facts in a `.json` beside. It knows the hash of what is in it. */
export class PartFile {
  readonly facts: PartFacts
  readonly #target: string
  readonly #path: string
  readonly #handle: FileHandle
  #hash: Hash
  #sizeBytes: number

  private constructor(target: string, path: string, facts: PartFacts, handle: FileHandle, sizeBytes: number) {
    this.#target = target
    this.#path = path
    this.facts = facts
    this.#handle = handle
    this.#sizeBytes = sizeBytes
    this.#hash = createHash('sha256')
  }

  /** A new one, empty. Errors: those of `storeError`. */
  static async create(target: string, facts: PartFacts): Promise<PartFile> {
    const path = partPathOf(target, facts.etag)
    try {
      // What an older part left under that name is void.
      await rm(path, { force: true })
      await writeFileWhole(`${path}.json`, `${JSON.stringify(facts)}\n`)
      const flags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
      return new PartFile(target, path, facts, await open(path, flags, 0o644), 0)
    } catch (cause) {
      throw storeError(path, cause)
    }
  }

  /**
   * The part of an earlier pull that can be continued, if there is one; parts that cannot are removed. Its bytes still have to be
   * hashed (`hashExisting`). Errors: those of `storeError`.
   */
  static async find(target: string, file: HubFile): Promise<PartFile | undefined> {
    let found: PartFile | undefined
    for (const path of await partPaths(target)) {
      const facts = found === undefined ? await readFacts(path) : undefined
      const fits = facts !== undefined && isSameFile(facts, file) && partPathOf(target, facts.etag) === path
      if (fits) found = await PartFile.#reopen(target, path, facts)
      if (found === undefined || found.#path !== path) await removePart(path).catch(() => undefined)
    }
    return found
  }

  static async #reopen(target: string, path: string, facts: PartFacts): Promise<PartFile | undefined> {
    try {
      const handle = await open(path, constants.O_RDWR | constants.O_NOFOLLOW)
      const stats = await handle.stat()
      if (stats.isFile() && stats.size <= facts.size_bytes) return new PartFile(target, path, facts, handle, stats.size)
      await handle.close()
    } catch {
      // Not there, a link, or not ours: it cannot be continued.
    }
    return undefined
  }

  get sizeBytes(): number {
    return this.#sizeBytes
  }

  /** Catches up on what an earlier pull left. Once, before anything is appended. */
  async hashExisting(signal: AbortSignal): Promise<void> {
    try {
      await hashInto(this.#hash, this.#handle, this.#sizeBytes, signal)
    } catch (cause) {
      signal.throwIfAborted()
      throw storeError(this.#path, cause)
    }
  }

  /** Errors: those of `storeError`; what was written before the error counts. */
  async append(chunk: Buffer): Promise<void> {
    for (let at = 0; at < chunk.length; ) {
      try {
        const { bytesWritten } = await this.#handle.write(chunk, at, chunk.length - at, this.#sizeBytes)
        this.#hash.update(chunk.subarray(at, at + bytesWritten))
        this.#sizeBytes += bytesWritten
        at += bytesWritten
      } catch (cause) {
        throw storeError(this.#path, cause)
      }
    }
  }

  /** Remembers where it is; the returned function goes back there. */
  mark(): () => Promise<void> {
    const sizeBytes = this.#sizeBytes
    const hash = this.#hash.copy()
    return async () => {
      await this.#handle.truncate(sizeBytes).catch((cause: unknown) => {
        throw storeError(this.#path, cause)
      })
      this.#sizeBytes = sizeBytes
      this.#hash = hash
    }
  }

  /** 64 hex digits, of all bytes in it. */
  sha256(): string {
    return this.#hash.copy().digest('hex')
  }

  /** It becomes the target, also across a power cut. Errors: those of `storeError`. */
  async finish(): Promise<void> {
    try {
      await this.#handle.sync()
      await this.#handle.close()
      await rename(this.#path, this.#target)
      await rm(`${this.#path}.json`, { force: true })
      await syncFolder(dirname(this.#target))
    } catch (cause) {
      throw storeError(this.#target, cause)
    }
  }

  /** Nothing of it stays. */
  async discard(): Promise<void> {
    await this.close()
    await removePart(this.#path)
  }

  /** It stays for the next pull. Harmless when it is over already. */
  async close(): Promise<void> {
    await this.#handle.close().catch(() => undefined)
  }
}

/** Bytes of an earlier pull that `PartFile.find` would continue; 0 = none. */
export async function resumableBytes(target: string, file: HubFile): Promise<number> {
  const part = await PartFile.find(target, file)
  await part?.close()
  return part?.sizeBytes ?? 0
}

function partPathOf(target: string, etag: ContentTag | null): string {
  const hash = createHash('sha256')
    .update(etag?.value ?? '')
    .digest('hex')
  return `${target}.${hash.slice(0, 16)}.part`
}

async function partPaths(target: string): Promise<readonly string[]> {
  const names = await readdir(dirname(target)).catch(() => [])
  const prefix = `${basename(target)}.`
  const own = names.filter((name) => name.startsWith(prefix) && /^[0-9a-f]{16}\.part$/.test(name.slice(prefix.length)))
  return own.map((name) => join(dirname(target), name))
}

async function readFacts(path: string): Promise<PartFacts | undefined> {
  try {
    return partFactsSchema.parse(JSON.parse(await readFile(`${path}.json`, 'utf8')))
  } catch {
    return undefined
  }
}

function isSameFile(facts: PartFacts, file: HubFile): boolean {
  return facts.size_bytes === file.sizeBytes && facts.sha256 === file.sha256 && isResumable(facts.etag, facts.sha256)
}

async function removePart(path: string): Promise<void> {
  await rm(path, { force: true })
  await rm(`${path}.json`, { force: true })
}
