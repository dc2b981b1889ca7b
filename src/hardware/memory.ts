import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { KIB } from '../kernel/units.ts'

/** Host memory in bytes. `available` is the kernel's own estimate of what a new program can get without swapping. */
export interface HostMemory {
  readonly totalBytes: number
  readonly availableBytes: number
}

/** Reads `<root>/proc/meminfo`; undefined when it cannot be read or lacks the lines. Never rejects. */
export async function readHostMemory(root: string): Promise<HostMemory | undefined> {
  const text = await readFile(join(root, 'proc/meminfo'), 'utf8').catch(() => '')
  const totalBytes = field(text, 'MemTotal')
  const availableBytes = field(text, 'MemAvailable')
  return totalBytes === undefined || availableBytes === undefined ? undefined : { totalBytes, availableBytes }
}

function field(text: string, name: string): number | undefined {
  const kib = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1]
  return kib === undefined ? undefined : Number(kib) * KIB
}
