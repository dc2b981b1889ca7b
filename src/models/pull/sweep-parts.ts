import { lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { HOUR_MS } from '../../kernel/units.ts'
import { PART_NAME } from './part-file.ts'

/** Whoever wants to go on with a pull does so within a day. */
const KEEP_MS = 24 * HOUR_MS

/** Repositories keep files in few folders; deeper ones are not ours. */
const MAX_DEPTH = 16

/**
 * Removes parts of interrupted pulls that were not touched for 24 h, with what stands beside them. `isOwned`: a running pull needs that
 * path. Links are not followed. Returns what was removed; what cannot be read or removed stays.
 */
export async function sweepParts(
  store: string,
  nowMs: number,
  isOwned: (path: string) => boolean,
): Promise<readonly string[]> {
  const removed: string[] = []
  await sweepFolder(store, 0, async (names, folder) => {
    const touched = new Map<string, number>()
    for (const name of names) {
      const { mtimeMs } = await lstat(join(folder, name))
      const part = partOf(name)
      touched.set(part, Math.max(touched.get(part) ?? 0, mtimeMs))
    }
    for (const name of names) {
      const path = join(folder, name)
      // Asked last of all: a pull may have taken it up while we looked.
      if (nowMs - (touched.get(partOf(name)) ?? nowMs) < KEEP_MS || isOwned(path)) continue
      await rm(path, { force: true })
      removed.push(path)
    }
  })
  return removed
}

async function sweepFolder(
  folder: string,
  depth: number,
  sweep: (names: readonly string[], folder: string) => Promise<void>,
): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  const names = entries.filter((entry) => entry.isFile() && PART_NAME.test(entry.name)).map(({ name }) => name)
  await sweep(names, folder).catch(() => undefined)
  if (depth === MAX_DEPTH) return
  for (const entry of entries) if (entry.isDirectory()) await sweepFolder(join(folder, entry.name), depth + 1, sweep)
}

/** A part and its facts are as old as the younger of them. */
function partOf(name: string): string {
  return name.replace(/\.json(?:\.\d+)?$/, '')
}
