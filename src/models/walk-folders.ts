import type { Dirent } from 'node:fs'
import { opendir, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { realOrSame } from '../files/real-or-same.ts'
import { errnoOf, Hal0Error, isNotFound, messageOf } from '../kernel/errors.ts'
import type { SkippedFile } from './rules/group-files.ts'

/** How far a walk goes. */
export interface WalkLimits {
  /** Folders below the first; default 8. */
  readonly maxDepth?: number
  /** Entries of all folders together, whatever they are; default 200,000. */
  readonly maxEntries?: number
  /** Of these, files by their name in GGUF format; default 10,000. */
  readonly maxFiles?: number
}

/** One folder with its GGUF files. */
export interface WalkedFolder {
  readonly path: string
  /** Paths in name order: regular files, and links to such. */
  readonly files: readonly string[]
  readonly skipped: readonly SkippedFile[]
}

/** Models lie at most four folders deep; the cache of a hub client in a home folder needs seven. */
const MAX_DEPTH = 8
/** A folder of models may hold a data set too; who names `/` by mistake gets an answer all the same. */
const MAX_ENTRIES = 200_000
/** Each of them is opened and read. */
const MAX_FILES = 10_000
/** Where hub clients keep what they fetch: the one hidden place that is looked into. */
const HUB_CACHE = join('.cache', 'huggingface', 'hub')
const PART_ENDINGS = ['.part', '.incomplete', '.tmp', '.download', '.crdownload', '.aria2']

/**
 * All folders from `root` down, parents first, in name order, those behind links last. Hidden ones are passed over, except a hub client's
 * cache. A folder that is reached twice is walked once. Errors: `validation.invalid` when `root` is no folder that can be read.
 */
export async function* walkFolders(root: string, limits: WalkLimits = {}): AsyncGenerator<WalkedFolder, void, void> {
  const { maxDepth = MAX_DEPTH, maxEntries = MAX_ENTRIES, maxFiles = MAX_FILES } = limits
  const start = resolve(root)
  await requireFolder(start)
  const visited = new Set<string>()
  const queue: Waiting[] = [{ path: start, depth: 0 }]
  const linked: Waiting[] = []
  const left = { entries: maxEntries, files: maxFiles }
  for (let next = queue.shift(); next !== undefined; next = queue.shift() ?? linked.shift()) {
    const { path, depth } = next
    const real = await realOrSame(path)
    if (visited.has(real)) continue
    visited.add(real)
    const listed = await listFolder(path, left)
    if ('reason' in listed) {
      if (path === start) throw noFolder(start, listed.reason)
      yield { path, files: [], skipped: [listed] }
      continue
    }
    if (listed.cutBy !== undefined) {
      // What belongs together in it is not known, so nothing of it is told.
      const many = listed.cutBy === 'files' ? `${maxFiles} GGUF files` : `${maxEntries} entries`
      const reason = `more than ${many} were found: what is from here on was not looked at; scan a smaller folder`
      yield { path, files: [], skipped: [{ path, reason }] }
      return
    }
    left.entries -= listed.seen.entries
    left.files -= listed.seen.files
    const { folder, below } = await sortEntries(path, listed.entries)
    const tooDeep = depth === maxDepth ? below : []
    yield {
      ...folder,
      skipped: [
        ...folder.skipped,
        ...tooDeep.map((deep) => ({ path: deep.path, reason: `more than ${maxDepth} folders below ${start}` })),
      ],
    }
    if (depth === maxDepth) continue
    // A folder is called by its own name where it has one below `root`.
    for (const { path: child, isLink } of below) (isLink ? linked : queue).push({ path: child, depth: depth + 1 })
  }
}

/** A folder to walk. */
interface Waiting {
  readonly path: string
  readonly depth: number
}

async function requireFolder(path: string): Promise<void> {
  try {
    if (!(await stat(path)).isDirectory()) throw noFolder(path, 'it is a file')
  } catch (cause) {
    if (cause instanceof Hal0Error) throw cause
    throw noFolder(path, isNotFound(cause) ? 'it does not exist' : messageOf(cause))
  }
}

function noFolder(path: string, reason: string): Hal0Error {
  return Hal0Error.of('validation.invalid', `${path} is no folder that can be scanned: ${reason}`, { param: 'folder' })
}

/** How much of what. */
interface Counted {
  readonly entries: number
  readonly files: number
}

/** The entries that may have to do with models. `cutBy`: there is more of it than `limit` lets pass. A folder that cannot be read says why. */
async function listFolder(
  path: string,
  limit: Counted,
): Promise<
  | { readonly entries: readonly Dirent[]; readonly seen: Counted; readonly cutBy?: keyof Counted | undefined }
  | SkippedFile
> {
  try {
    const entries: Dirent[] = []
    const seen = { entries: 0, files: 0 }
    // Leaving the loop closes the folder.
    for await (const entry of await opendir(path)) {
      const name = entry.name.toLowerCase()
      seen.entries++
      if (!entry.isDirectory() && isGguf(name)) seen.files++
      if (seen.entries > limit.entries) return { entries, seen, cutBy: 'entries' }
      if (seen.files > limit.files) return { entries, seen, cutBy: 'files' }
      if (!entry.isFile() || isGguf(name) || isPart(name, join(path, name))) entries.push(entry)
    }
    return { entries: entries.toSorted((a, b) => (a.name < b.name ? -1 : 1)), seen }
  } catch (cause) {
    return { path, reason: `the folder cannot be read: ${errnoOf(cause) ?? messageOf(cause)}` }
  }
}

/** `below`: folders to walk next. */
async function sortEntries(path: string, entries: readonly Dirent[]) {
  const files: string[] = []
  const skipped: SkippedFile[] = []
  const below: { readonly path: string; readonly isLink: boolean }[] = []
  for (const entry of entries) {
    const place = join(path, entry.name)
    const sort = await sortOf(place, entry)
    if (sort === 'file') files.push(place)
    else if (sort === 'folder') below.push({ path: place, isLink: entry.isSymbolicLink() })
    else if (sort === 'hidden_folder') below.push(...(await hubCacheIn(path, entry.name)))
    else if (sort !== undefined) skipped.push({ path: place, reason: sort.reason })
  }
  return { folder: { path, files, skipped }, below }
}

type Sort = 'file' | 'folder' | 'hidden_folder' | { readonly reason: string } | undefined

/** What is to be done with an entry? Undefined = it has nothing to do with models. */
async function sortOf(place: string, entry: Dirent): Promise<Sort> {
  const name = entry.name.toLowerCase()
  const isHidden = name.startsWith('.')
  const isModel = isGguf(name)
  if (isPart(name, place)) return { reason: 'a download that is not complete' }
  if (entry.isFile()) return !isModel ? undefined : isHidden ? { reason: 'a hidden file' } : 'file'
  if (entry.isDirectory()) return isHidden ? 'hidden_folder' : 'folder'
  if (!isModel && !entry.isSymbolicLink()) return undefined
  const target = await stat(place).catch(() => undefined)
  if (target === undefined) return isModel ? { reason: 'a link to nothing' } : undefined
  if (target.isDirectory()) return isHidden ? undefined : 'folder'
  if (!isModel) return undefined
  if (!target.isFile()) return { reason: 'not a regular file' }
  return isHidden ? { reason: 'a hidden file' } : 'file'
}

function isGguf(lowerName: string): boolean {
  return lowerName.endsWith('.gguf')
}

/** Files of a hub cache are called by their checksum until a link names them. */
function isPart(name: string, place: string): boolean {
  const ending = PART_ENDINGS.find((one) => name.endsWith(one))
  return ending !== undefined && (name.includes('.gguf') || /\/models--[^/]+\/blobs\//.test(place))
}

async function hubCacheIn(path: string, name: string): Promise<{ readonly path: string; readonly isLink: false }[]> {
  if (name !== '.cache') return []
  const hub = join(path, HUB_CACHE)
  const isThere = await stat(hub).then(
    (facts) => facts.isDirectory(),
    () => false,
  )
  return isThere ? [{ path: hub, isLink: false }] : []
}
