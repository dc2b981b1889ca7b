import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Home } from '../files/home.ts'
import type { Finding, Machine } from './finding.ts'

/** Lowest Node release that hal0 runs on; package.json `engines` says the same. */
export const MIN_NODE = { major: 20, minor: 19 } as const

/** Is Node new enough? */
export function findNode(machine: Pick<Machine, 'nodeVersion'>): Finding {
  const [major = 0, minor = 0] = machine.nodeVersion.split('.').map(Number)
  const ok = major > MIN_NODE.major || (major === MIN_NODE.major && minor >= MIN_NODE.minor)
  return {
    name: 'node',
    ok,
    required: true,
    found: ok
      ? `Node.js ${machine.nodeVersion}`
      : `Node.js ${machine.nodeVersion}; hal0 needs ${MIN_NODE.major}.${MIN_NODE.minor} or newer`,
    gives: 'runs hal0 itself',
  }
}

/** Is this Linux? hal0 reads /proc and signals process groups. */
export function findSystem(machine: Pick<Machine, 'platform' | 'arch'>): Finding {
  const ok = machine.platform === 'linux'
  return {
    name: 'system',
    ok,
    required: true,
    found: `${machine.platform} ${machine.arch}${ok ? '' : '; hal0 needs Linux'}`,
    gives: 'process groups and /proc, which hal0 watches its engines with',
  }
}

/** Can hal0.db be used? Without it hal0 serves all the same. */
export function findHistory(machine: Pick<Machine, 'findBindingProblem'>): Finding {
  const problem = machine.findBindingProblem()
  return {
    name: 'history',
    ok: problem === undefined,
    required: false,
    found: problem ?? 'the binding of better-sqlite3 can be loaded',
    gives: 'the loads of each slot, kept over restarts of the daemon (hal0.db)',
  }
}

/** May this user write the home, or make it? Looks only, makes nothing. */
export async function findHomeAccess(home: Home): Promise<Finding> {
  const problems = await Promise.all([home.etc, home.varLib, home.varLog].map(whyNotWritable))
  const problem = problems.find((found) => found !== undefined)
  return {
    name: 'home',
    ok: problem === undefined,
    required: true,
    found: problem ?? `${home.etc}, ${home.varLib} and ${home.varLog} can be written`,
    gives: 'a place for slot files, state and logs; --home DIR or HAL0_HOME chooses another',
  }
}

async function whyNotWritable(folder: string): Promise<string | undefined> {
  const existing = await nearestExisting(folder)
  if (!existing.isFolder) return `${existing.path} is in the way: a folder is needed there`
  try {
    await access(existing.path, constants.W_OK | constants.X_OK)
    return undefined
  } catch {
    return `${existing.path} is not writable for this user`
  }
}

async function nearestExisting(path: string): Promise<{ path: string; isFolder: boolean }> {
  try {
    return { path, isFolder: (await stat(path)).isDirectory() }
  } catch {
    const parent = dirname(path)
    return parent === path ? { path, isFolder: false } : nearestExisting(parent)
  }
}
