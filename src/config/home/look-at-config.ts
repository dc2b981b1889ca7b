import { createHash } from 'node:crypto'
import { type BigIntStats } from 'node:fs'
import { lstat, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Home } from '../../files/home.ts'
import { errnoOf, isNotFound, messageOf } from '../../kernel/errors.ts'
import type { Log } from '../../kernel/log.ts'
import { readConfigText } from '../toml/config-text.ts'
import type { Signatures } from './rules/settled.ts'

const FILES = ['hal0.toml', 'profiles.toml', 'models.toml', 'stacks.toml'] as const
const FOLDERS = ['slots', 'lanes'] as const
const SECOND_NS = 1_000_000_000n

/** How the state of a file is asked for: of a link itself, and of what is behind it. */
export interface FileFacts {
  lstat(path: string): Promise<BigIntStats>
  stat(path: string): Promise<BigIntStats>
}

const SYSTEM: FileFacts = {
  lstat: (path) => lstat(path, { bigint: true }),
  stat: (path) => stat(path, { bigint: true }),
}

/**
 * A look at the settings of a home, to be taken again and again: which files are there, and in which state? Never rejects. A folder that
 * cannot be read is taken to be as it was in the look before, and told once.
 */
export function createConfigLook(home: Home, log: Log, facts: FileFacts = SYSTEM): () => Promise<Signatures> {
  /** What each folder held when it could be read last. */
  const known = new Map<string, Signatures>()
  const unreadable = new Set<string>()

  async function lookInto(folder: string): Promise<Signatures> {
    try {
      const files = (await readdir(folder)).filter(isSettingsFile).map((entry) => join(folder, entry))
      const signatures = await sign(files, facts)
      known.set(folder, signatures)
      unreadable.delete(folder)
      return signatures
    } catch (cause) {
      if (isNotFound(cause)) known.delete(folder)
      else if (!unreadable.has(folder)) {
        log.warn({ folder, reason: messageOf(cause) }, 'cannot read a folder of settings; what is known of it stays')
        unreadable.add(folder)
      }
      return known.get(folder) ?? new Map<string, string>()
    }
  }

  return async () => {
    const [files, ...folders] = await Promise.all([
      sign(
        FILES.map((file) => join(home.etc, file)),
        facts,
      ),
      ...FOLDERS.map((folder) => lookInto(join(home.etc, folder))),
    ])
    return new Map([files, ...folders].flatMap((signatures) => [...signatures]))
  }
}

/** Never rejects; files that are not there are left out. */
async function sign(paths: readonly string[], facts: FileFacts): Promise<Signatures> {
  const signed = await Promise.all(paths.map(async (path) => [path, await signatureOf(path, facts)] as const))
  return new Map(signed.flatMap(([path, signature]) => (signature === undefined ? [] : [[path, signature] as const])))
}

/** The settings of a home as they are now, for `watchConfig`: taken before they are read, so that no edit falls in between. */
export function readBaseline(home: Home, log: Log): Promise<Signatures> {
  return createConfigLook(home, log)()
}

/** Not what editors leave behind: hidden files, `*~`, `.swp`, `.bak`. */
function isSettingsFile(entry: string): boolean {
  return !entry.startsWith('.') && /\.toml$/i.test(entry)
}

/** Undefined = there is no such file. A link is its own state and that of the file behind it; what cannot be looked at is a state too. */
async function signatureOf(path: string, facts: FileFacts): Promise<string | undefined> {
  try {
    const own = await facts.lstat(path)
    if (!own.isSymbolicLink()) return await stateOf(path, own)
    const target = await facts.stat(path).then(
      (behind) => stateOf(path, behind),
      (cause: unknown) => errnoOf(cause) ?? 'error',
    )
    return `${timesOf(own)} -> ${target}`
  } catch (cause) {
    return isNotFound(cause) ? undefined : (errnoOf(cause) ?? 'error')
  }
}

/** Where times are kept in whole seconds (network disks, old ones), edits of one second and one size look alike: there the content tells. */
async function stateOf(path: string, facts: BigIntStats): Promise<string> {
  if (facts.ctimeNs % SECOND_NS !== 0n || !facts.isFile()) return timesOf(facts)
  const text = await readConfigText(path)
  const content = text === 'absent' || !text.ok ? '-' : createHash('sha256').update(text.value).digest('hex')
  return `${timesOf(facts)} ${content}`
}

/** The change time tells of edits that kept size and modification time, and of permissions, with which a file becomes readable. */
function timesOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ')
}
