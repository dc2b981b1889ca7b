import { appendFile, mkdir, mkdtemp, rename, rm, stat, symlink, unlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock, settle } from '../../../test/support/manual-clock.ts'
import { type Home, homeAt } from '../../files/home.ts'
import type { Log } from '../../kernel/log.ts'
import { readBaseline } from './look-at-config.ts'
import { type ConfigWatch, type WatchConfigOptions, watchConfig } from './watch-config.ts'

const POLL_MS = 1_000
let root: string
let home: Home
let clock: ManualClock
let watch: ConfigWatch | undefined
/** What was told, as paths below etc/hal0. */
let told: (readonly string[])[]
let lines: string[]

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'hal0-watch-'))
  home = homeAt(root)
  clock = new ManualClock()
  told = []
  lines = []
  watch = undefined
  await write('hal0.toml', 'a = 1')
  await write('slots/one.toml', 'name = "one"')
})

afterEach(async () => {
  await watch?.close()
  expect(clock.pendingTimers).toBe(0)
  await rm(root, { recursive: true, force: true })
})

const at = (name: string): string => join(home.etc, name)

async function write(name: string, text: string): Promise<void> {
  await mkdir(dirname(at(name)), { recursive: true })
  await writeFile(at(name), text)
}

async function begin(options: Partial<WatchConfigOptions> = {}): Promise<void> {
  const line = (level: string) => (_facts: object, message: string) => void lines.push(`${level}: ${message}`)
  const log: Log = {
    debug: line('debug'),
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
    child: () => log,
  }
  const onChange = async (changed: readonly string[]): Promise<void> =>
    void told.push(changed.map((path) => path.slice(home.etc.length + 1)))
  watch = watchConfig({ home, clock, log, onChange, pollMs: POLL_MS, ...options })
  await isQuiet()
}

/** The look is over when the timer for the next one is set. */
async function isQuiet(): Promise<void> {
  while (clock.pendingTimers === 0) await settle()
}

/** `n` regular looks. */
async function looks(n: number): Promise<void> {
  for (let i = 0; i < n; i++) {
    await clock.advance(POLL_MS)
    await isQuiet()
  }
}

describe('watchConfig tells', () => {
  it.each<[string, string[], () => Promise<void>]>([
    ['an edit in place', ['slots/one.toml'], () => appendFile(at('slots/one.toml'), '\n# more')],
    [
      'an edit in place that keeps size and time',
      ['hal0.toml'],
      async () => {
        const { atime, mtime } = await stat(at('hal0.toml'))
        await writeFile(at('hal0.toml'), 'a = 2')
        await utimes(at('hal0.toml'), atime, mtime)
      },
    ],
    [
      'an atomic replacement',
      ['hal0.toml'],
      async () => {
        await writeFile(at('.tmp'), 'a = 2')
        await rename(at('.tmp'), at('hal0.toml'))
      },
    ],
    ['a new file', ['slots/two.toml'], () => write('slots/two.toml', 'name = "two"')],
    ['a removed one', ['slots/one.toml'], () => unlink(at('slots/one.toml'))],
    [
      'one removed and made anew',
      ['slots/one.toml'],
      async () => {
        await unlink(at('slots/one.toml'))
        await write('slots/one.toml', 'name = "one"')
      },
    ],
    ['a folder that appears', ['lanes/gpu.toml'], () => write('lanes/gpu.toml', '')],
    ['a folder that goes', ['slots/one.toml'], () => rm(at('slots'), { recursive: true })],
    [
      'several at once',
      ['models.toml', 'profiles.toml', 'stacks.toml'],
      async () => {
        for (const name of ['profiles.toml', 'models.toml', 'stacks.toml']) await write(name, '')
      },
    ],
    ['a name that no slot can have', ['slots/Bad Name.TOML'], () => write('slots/Bad Name.TOML', '')],
  ])('%s, once, at the second look', async (_name, expected, change) => {
    await begin()
    await change()
    await looks(1)
    expect(told).toEqual([])
    await looks(3)
    expect(told).toEqual([expected])
  })

  it('a link that is turned, and one of a folder above that is', async () => {
    await write('v1/hal0.toml', 'a = 1')
    await write('v2/hal0.toml', 'a = 1')
    await write('v1/s/one.toml', '')
    await write('v2/s/one.toml', '')
    await rm(at('slots'), { recursive: true })
    await rm(at('hal0.toml'))
    const turn = async (name: string, target: string): Promise<void> => {
      await symlink(target, at('new-link'))
      await rename(at('new-link'), at(name))
    }
    // As Kubernetes mounts settings: the files are links through a link that is replaced.
    await turn('..data', 'v1')
    await turn('hal0.toml', '..data/hal0.toml')
    await turn('slots', 'v1/s')
    await begin()
    await turn('..data', 'v2')
    await looks(2)
    expect(told).toEqual([['hal0.toml']])
    await turn('slots', 'v2/s')
    await looks(2)
    expect(told[1]).toEqual(['slots/one.toml'])
    await turn('hal0.toml', 'v1/hal0.toml')
    await looks(2)
    expect(told[2]).toEqual(['hal0.toml'])
    await unlink(at('v1/hal0.toml'))
    await looks(2)
    expect(told[3]).toEqual(['hal0.toml'])
  })

  it('nothing of what editors leave behind, nor of other files', async () => {
    await begin()
    const names = ['one.toml~', '.one.toml.swp', 'one.toml.bak', 'one.toml.bak-1', '.#one.toml', 'notes.txt']
    for (const name of names) await write(`slots/${name}`, 'x')
    await write('other.toml', 'x')
    await looks(3)
    expect(told).toEqual([])
  })

  it('an edit only when it has come to rest, and no other file waits for it', async () => {
    await begin()
    await write('models.toml', '')
    for (let i = 0; i < 4; i++) {
      await appendFile(at('slots/one.toml'), '\n#')
      await looks(1)
    }
    expect(told).toEqual([['models.toml']])
    await looks(1)
    expect(told).toEqual([['models.toml'], ['slots/one.toml']])
  })

  it('what changed since the baseline, before the watch began', async () => {
    const baseline = await readBaseline(home, { debug() {}, info() {}, warn() {}, error() {}, child: () => never() })
    await write('hal0.toml', 'a = 22')
    await begin({ baseline })
    await looks(1)
    expect(told).toEqual([['hal0.toml']])
  })
})

function never(): never {
  throw new Error('not used')
}

describe('one call at a time', () => {
  it('what changes during a call comes with the next, and no look is taken meanwhile', async () => {
    const calls: (readonly string[])[] = []
    const ends: (() => void)[] = []
    const onChange = async (changed: readonly string[]): Promise<void> => {
      if (calls.length === 0) await write('models.toml', '')
      await new Promise<void>((resolve) => {
        ends.push(resolve)
        calls.push(changed)
      })
    }
    await begin({ onChange })
    await write('hal0.toml', 'a = 22')
    await looks(1)
    await clock.advance(POLL_MS)
    while (calls.length === 0) await settle()
    // No timer runs while the call does.
    expect([calls, clock.pendingTimers]).toEqual([[[at('hal0.toml')]], 0])
    ends[0]?.()
    await isQuiet()
    await looks(1)
    await clock.advance(POLL_MS)
    while (calls.length === 1) await settle()
    expect(calls[1]).toEqual([at('models.toml')])
    const closing = watch?.close()
    ends[1]?.()
    await closing
  })

  it('a call that fails is made again, and told once', async () => {
    let failures = 3
    const calls: (readonly string[])[] = []
    await begin({
      onChange: async (changed) => {
        calls.push(changed)
        if (failures-- > 0) throw new Error('no')
      },
    })
    await write('hal0.toml', 'a = 22')
    await looks(8)
    expect(calls).toEqual(Array.from({ length: 4 }, () => [at('hal0.toml')]))
    expect(lines).toEqual(['error: could not take over changed settings; trying again'])
  })
})

describe('poke', () => {
  it('tells at once what is written, and leaves a half-written file to the regular looks', async () => {
    await begin()
    await write('models.toml', 'x')
    await write('slots/one.toml', 'half')
    await watch?.poke([at('models.toml')])
    expect(told).toEqual([['models.toml']])
    await watch?.poke([])
    await looks(1)
    expect(told).toHaveLength(1)
    await looks(1)
    expect(told).toEqual([['models.toml'], ['slots/one.toml']])
  })

  it('without paths tells every change, once', async () => {
    await begin()
    await write('models.toml', 'x')
    await write('slots/two.toml', 'x')
    await Promise.all([watch?.poke(), watch?.poke()])
    await looks(3)
    expect(told).toEqual([['models.toml', 'slots/two.toml']])
  })
})

it('a folder that cannot be read keeps what is known of it, and is told once', async () => {
  await begin()
  await rename(at('slots'), at('away'))
  // A link to itself: cannot be read, not even by root.
  await symlink('slots', at('slots'))
  await looks(4)
  const warning = 'warn: cannot read a folder of settings; what is known of it stays'
  expect(lines).toEqual([warning])
  expect(told).toEqual([])
  await appendFile(at('away/one.toml'), '# more')
  await unlink(at('slots'))
  await rename(at('away'), at('slots'))
  await looks(3)
  expect(told).toEqual([['slots/one.toml']])
  await rename(at('slots'), at('away'))
  await symlink('slots', at('slots'))
  await looks(2)
  expect(lines).toEqual([warning, warning])
})

it('tells nothing after close, and a home without settings is quiet', async () => {
  await rm(home.etc, { recursive: true })
  await begin()
  await looks(2)
  expect([told, lines]).toEqual([[], []])
  await write('hal0.toml', '')
  await watch?.close()
  await watch?.poke()
  await clock.advance(10 * POLL_MS)
  expect(told).toEqual([])
})
