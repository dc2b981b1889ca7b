import { type BigIntStats, promises as fs } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import type { GgufFacts } from '../contract/model.ts'
import { describeGgufRefusal, type GgufRefusal, openGgufFile } from '../files/gguf-file.ts'
import { systemClock } from '../kernel/clock.ts'
import { Hal0Error, messageOf } from '../kernel/errors.ts'
import { readGgufHeader } from './gguf-header.ts'
import { type ResolvedFacts, resolveFacts } from './rules/resolve-facts.ts'

/** Facts of a file with what reading them cost now; 0 when the file has not changed since the last time. */
export interface ReadFacts extends ResolvedFacts {
  readonly reads: number
  readonly readBytes: number
}

/** Files of which the facts are kept, so that a listing or the next load does not walk a vocabulary again. */
const MAX_KEPT = 1_024
/** File times are coarse: a file that changed just now may change again without a trace, so its facts are not kept. */
const SETTLED_MS = 2_000
/** About the path that was asked for: who says that a row of the registry names it has said so already. */
const GIVE_GGUF = 'Give the path of a model file in GGUF format; `hal0 model scan FOLDER` shows those of a folder.'
const REMEDIES: Readonly<Record<GgufRefusal['kind'], string>> = {
  missing: 'Check the path; `hal0 model scan FOLDER` shows the models of a folder.',
  unreadable: 'Check the path, and that the user who runs hal0 may read the file and enter its folders.',
  folder: GIVE_GGUF,
  not_regular: GIVE_GGUF,
  not_gguf: GIVE_GGUF,
}
const kept = new Map<string, { readonly identity: string; readonly facts: ResolvedFacts }>()

/**
 * What does the header of this model file say? Bounded, and never blocks; an unchanged file is read once.
 * Errors: `slot.model_missing` when there is no regular file, or none that starts like a GGUF; `slot.config_error` when its header is
 * damaged or the file is shorter than its header says. Source: SPEC 3 "model".
 */
export async function readGgufFacts(path: string): Promise<GgufFacts> {
  return (await readAllFacts(path)).facts
}

/** As `readGgufFacts`, with what pairing files needs and what reading cost. Errors: the same. */
export async function readAllFacts(path: string): Promise<ReadFacts> {
  const opened = await openGgufFile(path)
  if (!opened.ok) {
    const remedy = REMEDIES[opened.error.kind]
    throw Hal0Error.of('slot.model_missing', describeGgufRefusal(path, opened.error), { details: { path, remedy } })
  }
  const handle = opened.value
  try {
    return await readOpened(path, handle)
  } catch (cause) {
    if (cause instanceof Hal0Error) throw cause
    throw Hal0Error.of('slot.model_missing', `${path} cannot be read: ${messageOf(cause)}`, {
      details: { path, remedy: REMEDIES.unreadable },
      cause,
    })
  } finally {
    await handle.close()
  }
}

async function readOpened(path: string, handle: FileHandle): Promise<ReadFacts> {
  const stats = await handle.stat({ bigint: true })
  const identity = identityOf(stats)
  const known = kept.get(path)
  if (known?.identity === identity) return { ...known.facts, reads: 0, readBytes: 0 }
  const header = await readGgufHeader(handle)
  if (!header.ok) {
    const remedy = 'Fetch the model file again and compare its size and checksum, or bind another model.'
    throw Hal0Error.of('slot.config_error', `${path} has a damaged GGUF header: it ${header.error}`, {
      details: { path, remedy },
    })
  }
  const facts = resolveFacts(header.value)
  if (systemClock.nowMs() - Number(stats.ctimeMs) > SETTLED_MS) keep(path, identity, facts)
  return { ...facts, reads: header.value.reads, readBytes: header.value.readBytes }
}

/** The one that was read longest ago makes room. */
function keep(path: string, identity: string, facts: ResolvedFacts): void {
  kept.delete(path)
  const [oldest] = kept.keys()
  if (kept.size >= MAX_KEPT && oldest !== undefined) kept.delete(oldest)
  kept.set(path, { identity, facts })
}

function identityOf(stats: BigIntStats): string {
  return [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(' ')
}

/** Names of these files that are not there as readable regular files, in their order. For launches: a projector may have vanished. */
export async function checkModelFiles(files: readonly string[]): Promise<string[]> {
  const found = await Promise.all(files.map(isReadableFile))
  return files.filter((_, nth) => found[nth] !== true)
}

async function isReadableFile(path: string): Promise<boolean> {
  try {
    if (!(await fs.stat(path)).isFile()) return false
    await fs.access(path, fs.constants.R_OK)
    return true
  } catch {
    return false
  }
}
