import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { writeFileWhole } from '../../files/atomic-write.ts'
import { type Home, homeAt } from '../../files/home.ts'
import { GIB } from '../../kernel/units.ts'
import { withWriteLock } from '../home/write-lock.ts'
import { createProfiles } from '../profiles/profile-store.ts'
import { SEED_PROFILES } from '../profiles/seed-profiles.ts'
import { isSeedSlot, SEED_SLOTS, type SeedSlotName } from './rules/seed-slot-table.ts'
import { addTombstone } from './seed-record.ts'
import { type SeedDeps, seedHome, seedSlots } from './seed-slots.ts'
import { readSlotFile, slotFilePath } from './slot-file.ts'

const BUILD = ['embedded', 'cpu', 'standard', 'cuda', 'vllm', 'sglang']
const EVERYWHERE = ['agent', 'utility', 'coder', 'brain', 'embed', 'rerank']
let root: string
let home: Home

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'hal0-seeds-'))
  home = homeAt(root)
})
afterEach(() => rm(root, { recursive: true, force: true }))

function deps(more: Partial<SeedDeps> = {}): SeedDeps {
  const profiles = createProfiles({ home, knownRunners: () => BUILD, version: '0.0.0' })
  return { home, runnerKeys: () => BUILD, memoryBytes: 64 * GIB, profiles, ...more }
}

async function files(): Promise<string[]> {
  const entries: string[] = await readdir(join(home.etc, 'slots')).catch(() => [])
  return entries.toSorted()
}

async function record(): Promise<unknown> {
  return JSON.parse(await readFile(join(home.varLib, 'seeds.json'), 'utf8'))
}

describe('the table', () => {
  it.each([
    ['agent', 'agent', 'llm', 'cpu'],
    ['utility', 'utility', 'llm', 'cpu'],
    ['coder', 'coding', 'llm', 'cpu'],
    ['brain', 'brain', 'llm', 'cpu'],
    ['embed', 'embedding', 'embedding', 'cpu'],
    ['rerank', 'reranking', 'reranking', 'cpu'],
    ['flm', 'flm', 'llm', 'npu'],
    ['tts', 'kokoro', 'tts', 'cpu'],
    ['qwen3tts', 'qwen3-tts', 'tts', 'cpu'],
    ['img', 'comfyui', 'image', 'cpu'],
    ['flm-stt', 'flm', 'transcription', 'npu'],
    ['flm-embed', 'flm', 'embedding', 'npu'],
  ] as const)('%s runs %s', (name, profile, type, device) => {
    expect(SEED_SLOTS[name]).toMatchObject({ profile, type, device })
    // The runner that is asked for is the one that a launch would choose.
    const { runner, binary } = SEED_SLOTS[name]
    const seedProfile = Object.entries(SEED_PROFILES).find(([key]) => key === profile)?.[1]
    expect(runner).toBe(binary ?? seedProfile?.runner ?? (device === 'cpu' ? 'embedded' : 'flm'))
  })

  it('knows its names', () => {
    expect(['agent', 'flm-stt', 'mine', 'constructor'].map(isSeedSlot)).toEqual([true, true, false, false])
  })
})

describe('seedHome', () => {
  it('makes the seeds of this build, once, without a model', async () => {
    const result = await seedHome(deps())
    expect(result?.created).toEqual(EVERYWHERE)
    expect(result?.skipped.map(({ name }) => name)).toEqual(['flm', 'tts', 'qwen3tts', 'img', 'flm-stt', 'flm-embed'])
    expect(result?.skipped[0]?.reason).toContain('"flm"')
    expect(await files()).toEqual(EVERYWHERE.map((name) => `${name}.toml`).toSorted())
    expect(await readSlotFile(home, 'rerank')).toMatchObject({
      type: 'reranking',
      profile: 'reranking',
      binary: 'cpu',
      autoload: false,
      model: { default: '' },
      default: false,
    })
    expect(await record()).toEqual({ seeded: EVERYWHERE, tombstones: [], pending: [] })
    await rm(slotFilePath(home, 'brain'))
    expect(await seedHome(deps())).toBeUndefined()
    expect(await files()).not.toContain('brain.toml')
  })

  it('pins agent and utility, and says in each file what to do', async () => {
    await seedHome(deps())
    const pinned = await Promise.all(EVERYWHERE.map(async (name) => (await readSlotFile(home, name))?.pinned ?? false))
    expect(pinned).toEqual([true, true, false, false, false, false])
    expect(await readFile(slotFilePath(home, 'coder'), 'utf8')).toContain('hal0 slot edit coder --model ID')
  })

  it('leaves a home alone that has slot files, for good', async () => {
    await writeFileWhole(slotFilePath(home, 'mine'), 'name = "mine"\n')
    expect(await seedHome(deps())).toBeUndefined()
    expect(await record()).toEqual({ seeded: [], tombstones: [], pending: [] })
    await rm(slotFilePath(home, 'mine'))
    expect(await seedHome(deps())).toBeUndefined()
    expect(await files()).toEqual([])
  })

  it('finishes what a kill interrupted, and brings nothing back that was deleted since', async () => {
    let calls = 0
    // Asked once for each seed, and then for the one that names its runner.
    const runnerKeys = () => {
      if (++calls > Object.keys(SEED_SLOTS).length) throw new Error('killed')
      return BUILD
    }
    await expect(seedHome(deps({ runnerKeys }))).rejects.toThrow('killed')
    expect(await files()).toEqual(['agent.toml', 'brain.toml', 'coder.toml', 'embed.toml', 'utility.toml'])
    await withWriteLock(home, () => addTombstone(home, 'rerank'))
    await rm(slotFilePath(home, 'agent'))
    const { tombstones, pending } = (await record()) as Record<string, string[]>
    expect([tombstones, pending?.includes('agent'), pending?.includes('flm')]).toEqual([['rerank'], false, true])
    expect((await seedHome(deps()))?.created).toEqual([])
    expect(await files()).toEqual(['brain.toml', 'coder.toml', 'embed.toml', 'utility.toml'])
    expect(await record()).toMatchObject({ tombstones: ['rerank'], pending: [] })
  })

  it('a record that cannot be understood is there', async () => {
    await writeFileWhole(join(home.varLib, 'seeds.json'), '{"seeded": 7')
    expect(await seedHome(deps())).toBeUndefined()
    expect(await files()).toEqual([])
  })
})

describe('seedSlots', () => {
  it('what was deleted comes back only when it is asked for', async () => {
    await seedHome(deps())
    for (const name of ['brain', 'coder']) {
      await withWriteLock(home, () => addTombstone(home, name))
      await rm(slotFilePath(home, name))
    }
    const all = await seedSlots(deps(), { kind: 'all' })
    expect([all.created, all.kept.length]).toEqual([[], 4])
    expect(all.skipped.find(({ name }) => name === 'brain')?.reason).toContain('hal0 slot reseed brain')
    const named = await seedSlots(deps(), { kind: 'named', names: ['brain', 'brain', 'agent'] })
    expect(named).toEqual({ created: ['brain'], kept: ['agent'], skipped: [] })
    expect(await record()).toMatchObject({ tombstones: ['coder'] })
    expect((await seedSlots(deps(), { kind: 'reseed' })).created).toEqual(['coder'])
    expect(await record()).toMatchObject({ tombstones: [] })
  })

  it('never writes over a file, not even a broken one', async () => {
    await writeFileWhole(slotFilePath(home, 'agent'), 'no toml')
    const result = await seedSlots(deps(), { kind: 'named', names: ['agent'] })
    expect(result.kept).toEqual(['agent'])
    expect(await readFile(slotFilePath(home, 'agent'), 'utf8')).toBe('no toml')
  })

  it('refuses a name that is no seed, before anything is written', async () => {
    const failing = seedSlots(deps(), { kind: 'named', names: ['agent', 'mine'] })
    await expect(failing).rejects.toMatchObject({ code: 'slot.not_found' })
    expect(await files()).toEqual([])
  })

  it('passes over a name that is an alias already, with the reason', async () => {
    await writeFileWhole(slotFilePath(home, 'mine'), 'name = "mine"\naliases = ["coder"]\n')
    const result = await seedSlots(deps(), { kind: 'reseed' })
    expect(result.skipped.find(({ name }) => name === 'coder')?.reason).toContain('alias')
    expect(result.created).toEqual(EVERYWHERE.filter((name) => name !== 'coder'))
  })

  it('two at once make each file once', async () => {
    const [one, other] = await Promise.all([
      seedSlots(deps(), { kind: 'reseed' }),
      seedSlots(deps(), { kind: 'reseed' }),
    ])
    expect([...one.created, ...other.created].toSorted()).toEqual(EVERYWHERE.toSorted())
  })

  it('every seed passes the gate where its runner is there', async () => {
    const names = Object.keys(SEED_SLOTS).filter(isSeedSlot)
    const runnerKeys = () => names.map((name: SeedSlotName) => SEED_SLOTS[name].runner)
    const result = await seedSlots(deps({ runnerKeys }), { kind: 'reseed' })
    expect(result).toEqual({ created: names, kept: [], skipped: [] })
    for (const name of names) expect(await readSlotFile(home, name)).toMatchObject({ name, autoload: false })
    expect(await readFile(slotFilePath(home, 'tts'), 'utf8')).toContain('hal0 slot load tts')
    expect(await readSlotFile(home, 'flm')).toMatchObject({ npu: { asr: false, embed: false } })
    const start = async (name: string) => /^# It .*$/m.exec(await readFile(slotFilePath(home, name), 'utf8'))?.[0]
    expect(await start('flm')).toContain('--model TAG')
    expect(await start('flm-stt')).toContain('hal0 slot edit flm --set npu.asr=true')
    expect(await start('flm-embed')).toContain('hal0 slot edit flm --set npu.embed=true')
    expect(await start('agent')).toContain('--model ID')
  })

  it('the slots of FastFlowLM only where its program is', async () => {
    const runnerKeys = () => ['flm', 'kokoro']
    const asked: string[] = []
    const hasProgram = async (runner: string) => asked.push(runner) > 100
    const names = ['flm', 'tts', 'flm-stt', 'flm-embed']
    const without = await seedSlots(deps({ runnerKeys, hasProgram }), { kind: 'named', names })
    // A server for speech is there to be set up; the NPU may not exist.
    expect([without.created, without.skipped.map(({ name }) => name), new Set(asked)]).toEqual([
      ['tts'],
      ['flm', 'flm-stt', 'flm-embed'],
      new Set(['flm']),
    ])
    expect(without.skipped[0]?.reason).toContain('hal0 slot reseed flm')
    const later = await seedSlots(deps({ runnerKeys, hasProgram: async () => true }), { kind: 'named', names })
    expect(later.created).toEqual(['flm', 'flm-stt', 'flm-embed'])
  })
})

describe('a machine that cannot afford the window', () => {
  const small = () => deps({ memoryBytes: 16 * GIB })

  it('gets a profile of its own, bound in the file', async () => {
    await seedHome(small())
    expect((await readSlotFile(home, 'agent'))?.profile).toBe('agent-ctx')
    expect(await small().profiles.show('agent-ctx')).toMatchObject({
      seed: false,
      ctx_size: 32_768,
      cloned_from: 'agent',
      flags: (await small().profiles.show('agent')).flags,
    })
    // 4096 tokens are affordable everywhere, and a profile that names no window has none to lower.
    expect((await readSlotFile(home, 'embed'))?.profile).toBe('embedding')
    expect((await readSlotFile(home, 'coder'))?.profile).toBe('coding')
  })

  it('keeps a profile of that name as it is', async () => {
    await small().profiles.create({ name: 'brain-ctx', from: 'brain', ctx_size: 10_000 })
    await seedSlots(small(), { kind: 'named', names: ['brain'] })
    expect((await readSlotFile(home, 'brain'))?.profile).toBe('brain-ctx')
    expect((await small().profiles.show('brain-ctx')).ctx_size).toBe(10_000)
  })
})
