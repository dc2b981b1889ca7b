import { lstat } from 'node:fs/promises'
import { basename } from 'node:path'
import { realOrSame } from '../files/real-or-same.ts'
import { messageOf } from '../kernel/errors.ts'
import { type ReadFacts, readAllFacts } from './gguf-facts.ts'
import { type GroupedModel, type GroupFile, groupFiles, type SkippedFile } from './rules/group-files.ts'
import { type WalkLimits, walkFolders } from './walk-folders.ts'

/** Headers that are read at the same time: slow storage answers several as fast as one, and memory stays flat. */
const AT_ONCE = 4

export interface ScanOptions extends WalkLimits {
  readonly signal?: AbortSignal
}

export interface FolderScan {
  /** In the order of their folders and names. */
  readonly found: readonly GroupedModel[]
  readonly skipped: readonly SkippedFile[]
  /** GGUF files looked at. */
  readonly filesSeen: number
  /** Reads from files, all together; those of files that have not changed since they were read last do not count. */
  readonly reads: number
  readonly readBytes: number
  /** Reads of the file that needed most. */
  readonly mostReads: number
}

/**
 * Which models are in this folder and the folders below? Nothing is registered. Links are followed, each folder once; a model that is
 * there under several names is told once. What cannot be read is told in `skipped` and stops nothing.
 * Errors: `validation.invalid` when `root` is no folder that can be read; the signal's reason. Source: SPEC 3, CASES 29, 33.
 */
export async function scanFolder(root: string, options: ScanOptions = {}): Promise<FolderScan> {
  const scan = {
    found: [] as GroupedModel[],
    skipped: [] as SkippedFile[],
    filesSeen: 0,
    reads: 0,
    readBytes: 0,
    mostReads: 0,
  }
  const readable: { readonly folder: string; readonly files: readonly GroupFile[] }[] = []
  for await (const folder of walkFolders(root, options)) {
    options.signal?.throwIfAborted()
    scan.skipped.push(...folder.skipped)
    scan.filesSeen += folder.files.length
    const read = await readAll(folder.files, options.signal)
    for (const one of read) {
      if ('reason' in one) scan.skipped.push(one)
      else {
        scan.reads += one.reads
        scan.readBytes += one.readBytes
        scan.mostReads = Math.max(scan.mostReads, one.reads)
      }
    }
    readable.push({ folder: folder.path, files: read.flatMap((one) => ('reason' in one ? [] : one)) })
  }
  const seen = new Map<string, string>()
  const groups = readable.map(({ files }) => groupFiles(files))
  scan.skipped.push(...groups.flatMap((group) => group.skipped))
  const models = await Promise.all(groups.flatMap((group) => group.models).map(withRealFiles))
  // Of several names for one file, the real one is told.
  const realFirst = models.toSorted((a, b) => Number(a.isLinked) - Number(b.isLinked))
  const again = new Set<GroupedModel>()
  for (const { model, key } of realFirst) {
    const other = seen.get(key)
    seen.set(key, other ?? model.path)
    if (other !== undefined) {
      again.add(model)
      scan.skipped.push({ path: model.path, reason: `the same file as ${other}` })
    }
  }
  scan.found.push(...models.flatMap(({ model }) => (again.has(model) ? [] : model)))
  return scan
}

/** A file with its facts, or why it has none. */
type Read = (GroupFile & ReadFacts) | SkippedFile

async function readAll(paths: readonly string[], signal: AbortSignal | undefined): Promise<Read[]> {
  const results: Read[] = []
  const queue = paths.entries()
  const work = async () => {
    // One iterator for all: each worker takes the next file.
    for (const [nth, path] of queue) {
      signal?.throwIfAborted()
      results[nth] = await readOne(path)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return results
}

async function readOne(path: string): Promise<Read> {
  try {
    return { name: basename(path), path, ...(await readAllFacts(path)) }
  } catch (cause) {
    return { path, reason: messageOf(cause) }
  }
}

/** `key`: the same for models made of the same files, whatever they are called. */
async function withRealFiles(model: GroupedModel) {
  const real = await Promise.all(model.files.map((file) => realOrSame(file)))
  const isLinked = await lstat(model.path).then(
    (facts) => facts.isSymbolicLink(),
    () => false,
  )
  return { model, key: real.join('\0'), isLinked }
}
