import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'smol-toml'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { failure } from '../../../test/support/failure.ts'
import { type ProfileCreate, profileCreateSchema } from '../../contract/profile.ts'
import { SLOT_TYPES } from '../../contract/slot-row.ts'
import { type Home, homeAt } from '../../files/home.ts'
import { type Log, silentLog } from '../../kernel/log.ts'
import { screenFlags } from '../../launch/rules/screen-flags.ts'
import { createProfiles } from './profile-store.ts'
import type { Profiles } from './profiles.ts'
import { defaultProfileOf, launchProfileOf, profilesFilePath, readProfiles } from './profiles-file.ts'
import { canonicalJson, dialectOf, hostPaths } from './rules/profile-flags.ts'
import { SEED_PROFILE_NAMES, SEED_PROFILES } from './seed-profiles.ts'
import { rewriteRetiredProfileKeys } from './write-profiles.ts'

let folder: string
let home: Home
let profiles: Profiles

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-profiles-'))
  home = homeAt(folder)
  await mkdir(join(home.etc, 'slots'), { recursive: true })
  profiles = createProfiles({ home, knownRunners: () => ['cpu', 'cuda', 'vllm', 'embedded'], version: '0.0.0' })
})
afterEach(() => rm(folder, { recursive: true }))

const put = (text: string) => writeFile(profilesFilePath(home), text)
const get = () => readFile(profilesFilePath(home), 'utf8')
const slot = (name: string, text: string) => writeFile(join(home.etc, 'slots', `${name}.toml`), text)

describe('seed profiles', () => {
  it('are the thirteen of the contract, with its windows and modes', () => {
    expect(Object.keys(SEED_PROFILES).toSorted()).toEqual([...SEED_PROFILE_NAMES])
    expect(SEED_PROFILE_NAMES).toHaveLength(13)
    const windows = Object.entries(SEED_PROFILES).flatMap(([name, { ctx_size }]) =>
      ctx_size ? [[name, ctx_size]] : [],
    )
    expect(Object.fromEntries(windows)).toEqual({
      agent: 65536,
      utility: 65536,
      brain: 65536,
      embedding: 4096,
      reranking: 4096,
    })
    expect(SEED_PROFILES.embedding.flags).toEqual(['--embedding', '-b', '8192', '-ub', '8192'])
    expect(SEED_PROFILES.reranking.flags).toEqual(['--reranking', '-b', '8192', '-ub', '8192'])
  })

  it.each(Object.entries(SEED_PROFILES))('%s passes the gate of custom ones', (_name, body) => {
    const words = Array.isArray(body.flags) ? body.flags : []
    expect(screenFlags(words, dialectOf(body.runner))).toEqual([])
    expect(body.intent).toMatch(/\.$/)
    if (body.runner !== undefined) expect(words).toEqual([])
  })

  it('have one for every type of slot', () => {
    const defaults = SLOT_TYPES.map((type) => [type, defaultProfileOf(type)])
    expect(Object.fromEntries(defaults)).toEqual({
      llm: 'chat',
      embedding: 'embedding',
      reranking: 'reranking',
      transcription: 'moonshine',
      tts: 'kokoro',
      image: 'comfyui',
    })
  })
})

describe('reading', () => {
  it('lists seeds first, each group in name order, with the slots that run them', async () => {
    await put('[profiles.zeta]\n[profiles.beta]\nflags = "--temp 0.5 -n \'4 5\'"\n')
    await slot('b', 'name = "b"\nprofile = "beta"\n')
    await slot('c', 'name = "c"\n')
    const rows = await profiles.list()
    expect(rows.map(({ name }) => name)).toEqual([...SEED_PROFILE_NAMES, 'beta', 'zeta'])
    expect(rows.find(({ name }) => name === 'beta')).toMatchObject({
      seed: false,
      flags: ['--temp', '0.5', '-n', '4 5'],
      used_by: ['b'],
      ctx_size: null,
    })
    expect(rows.find(({ name }) => name === 'chat')).toMatchObject({ seed: true, used_by: ['c'] })
  })

  it.each([
    ['a seed by its name', '[profiles.chat]\n', '"chat" is the name of a built-in profile'],
    ['an unclosed quote', '[profiles.a]\nflags = "--x \'y"\n', "profiles.a.flags: the quote '"],
    ['an unknown key', '[profiles.a]\nctx_szie = 4096\n', 'did you mean ctx_size?'],
    ['two lines of intent', '[profiles.a]\nintent = "a\\nb"\n', 'profiles.a.intent: expected one line'],
    ['a name that is none', '[profiles."A b"]\n', 'profiles.A b: expected 1 to 32 of'],
  ])('refuses %s', async (_name, text, part) => {
    await put(text)
    const error = await failure(readProfiles(home))
    expect([error.code, error.message]).toEqual(['config.invalid', expect.stringContaining(part)])
  })

  it('reads a profile whose flags are not allowed: a launch leaves them out', async () => {
    await put('[profiles.a]\nflags = ["--port", "1", "--temp", "0"]\n')
    expect((await readProfiles(home)).get('a')?.flags).toEqual(['--port', '1', '--temp', '0'])
  })

  it('hands a launch what the profile says, and nothing else', async () => {
    await put('[profiles.a]\nctx_size = 8192\nenable_thinking = false\nvision = "off"\n')
    const profile = (await readProfiles(home)).get('a')
    if (profile === undefined) throw new Error('no profile')
    expect(launchProfileOf(profile)).toEqual({
      name: 'a',
      flags: [],
      ctxTokens: 8192,
      enableThinking: false,
      reasoningEffort: undefined,
      reasoningBudget: undefined,
      vision: 'off',
      speculation: undefined,
    })
  })
})

describe('writing', () => {
  it('creates, changes and removes, and keeps the comments of the others', async () => {
    await put(
      '# mine\n[profiles.a] # a\nflags = [\n  "--temp", "1", # warm\n]\n\n# about b\n[profiles.b]\nctx_size = 512\n',
    )
    const row = await profiles.create({ name: 'c', from: 'coding', ctx_size: 16384 })
    expect(row).toMatchObject({
      cloned_from: 'coding',
      ctx_size: 16384,
      flags: SEED_PROFILES.coding.flags,
      seed: false,
    })
    expect(await profiles.update('b', { ctx_size: null, vision: 'off' })).toMatchObject({
      ctx_size: null,
      vision: 'off',
    })
    await profiles.remove('c')
    expect(await get()).toBe(
      '# mine\n[profiles.a] # a\nflags = [\n  "--temp", "1", # warm\n]\n\n# about b\n[profiles.b]\nvision = "off"\n',
    )
    await profiles.remove('a')
    await profiles.remove('b')
    expect((await profiles.list()).every(({ seed }) => seed)).toBe(true)
  })

  it('keeps every one of many writes at once', async () => {
    const names = Array.from({ length: 12 }, (_, nth) => `p${nth}`)
    await Promise.all(names.map((name) => profiles.create({ name, ctx_size: 4096 })))
    expect(Object.keys(parse(await get())['profiles'] ?? {}).toSorted()).toEqual(names.toSorted())
  })

  it.each<[string, ProfileCreate, string, string[]]>([
    [
      'every refused flag with its owner',
      { name: 'x', flags: '--port=1 -ngl 9 -m /x' },
      'profile.flag_denied',
      ['--port', '-ngl', '-m'],
    ],
    [
      'both mode flags',
      { name: 'x', flags: ['--embeddings', '--rerank'] },
      'profile.flag_denied',
      ['--rerank: an engine either embeds or reranks'],
    ],
    ['an unclosed quote', { name: 'x', flags: '"' }, 'validation.invalid', ['flags: the quote " at line 1, column 1']],
    ['a runner nobody knows', { name: 'x', runner: 'cdua' }, 'validation.invalid', ['did you mean cuda?']],
    ['a name that is taken by a seed', { name: 'chat' }, 'profile.exists', ['built-in']],
    ['a name that is taken', { name: 'old' }, 'profile.exists', ['already']],
    ['a source that does not exist', { name: 'x', from: 'agnet' }, 'profile.not_found', ['did you mean agent?']],
    ['a name that the API needs', { name: 'export' }, 'validation.invalid', ['"export" is reserved']],
    ['another name that the API needs', { name: 'import' }, 'validation.invalid', ['"import" is reserved']],
    ['a name that is none', { name: 'X y' }, 'validation.invalid', ['name: expected 1 to 32']],
    [
      'a small window and two lines',
      { name: 'x', ctx_size: 5, intent: 'a\nb' },
      'validation.invalid',
      ['ctx_size', 'intent'],
    ],
  ])('refuses %s, and writes nothing', async (_name, input, code, parts) => {
    await put('[profiles.old]\n')
    const error = await failure(profiles.create(input))
    expect(error.code).toBe(code)
    for (const part of parts) expect(error.message).toContain(part)
    expect(await get()).toBe('[profiles.old]\n')
  })

  it('names speculation when a write still says mtp', async () => {
    const input: object = { name: 'x', mtp: true }
    expect(profileCreateSchema.safeParse(input).error?.issues[0]?.message).toContain('speculation')
    // As a caller that asks no schema would.
    const error = await failure(Reflect.apply(profiles.create, profiles, [input]))
    expect([error.code, error.status, error.message]).toEqual([
      'validation.invalid',
      422,
      expect.stringContaining('speculation'),
    ])
  })

  it('leaves seeds as they are', async () => {
    expect((await failure(profiles.update('agent', { ctx_size: 512 }))).code).toBe('profile.immutable')
    expect((await failure(profiles.remove('agent'))).code).toBe('profile.immutable')
    expect((await failure(profiles.remove('agnet'))).message).toContain('did you mean agent?')
  })

  it.each([
    ['a good file', 'name = "s"\nprofile = "mine"\n'],
    ['a file with a mistake', 'name = "s"\nprofile = "mine"\nprot = 1\n'],
    ['a file that is no TOML', 'name = "s"\nprofile = "mine" # this one\nport = \n'],
  ])('does not take a profile from under a slot with %s', async (_name, text) => {
    await put('[profiles.mine]\n')
    await slot('s', text)
    const error = await failure(profiles.remove('mine'))
    expect([error.code, error.message]).toEqual(['profile.in_use', expect.stringContaining('slot s')])
  })

  it.each([
    ['it names it', 'default = { model = "a", profile = "mine" }\n'],
    ['its model prefers it', 'default = { model = "a" }\n'],
  ])('does not take a profile from under a lane: %s', async (_name, text) => {
    await put('[profiles.mine]\n[profiles.other]\n')
    await writeFile(join(home.etc, 'models.toml'), '[models.a]\npath = "/a.gguf"\npreferred_profile = "mine"\n')
    await mkdir(join(home.etc, 'lanes'), { recursive: true })
    await writeFile(join(home.etc, 'lanes/gpu0.toml'), text)
    const error = await failure(profiles.remove('mine'))
    expect([error.code, error.message]).toEqual([
      'profile.in_use',
      'profile "mine" is used by lane gpu0 (as its default)',
    ])
    expect(error.details).toMatchObject({
      slots: [],
      lanes: ['gpu0'],
      remedy: expect.stringContaining('hal0 lane edit gpu0'),
    })
    await profiles.remove('other')
  })

  it('never writes over a file with mistakes', async () => {
    await put('[profiles.a]\nctx_szie = 1\n')
    expect((await failure(profiles.create({ name: 'b' }))).code).toBe('config.invalid')
    expect(await get()).toBe('[profiles.a]\nctx_szie = 1\n')
  })
})

describe('mtp on disk', () => {
  it('is rewritten once, in its place, and told', async () => {
    await put(
      '# mine\n[profiles.a]\nmtp = true # a\nctx_size = 512 # n\n[profiles.b]\nmtp = false\n[profiles.c]\nmtp = true\nspeculation = "ngram"\n',
    )
    const lines: object[] = []
    const log: Log = { ...silentLog, info: (facts) => lines.push(facts) }
    expect((await readProfiles(home)).get('b')?.body.speculation).toBe('off')
    expect(await rewriteRetiredProfileKeys(home, log)).toEqual(['a', 'b', 'c'])
    expect(await rewriteRetiredProfileKeys(home, log)).toEqual([])
    expect(lines).toHaveLength(1)
    expect(await get()).toBe(
      '# mine\n[profiles.a]\nctx_size = 512 # n\nspeculation = "auto"\n[profiles.b]\nspeculation = "off"\n[profiles.c]\nspeculation = "ngram"\n',
    )
  })
})

describe('export and import', () => {
  it('brings profiles to another home; what is there wins unless told', async () => {
    await put('[profiles.a]\nflags = ["--lora", "/srv/x.gguf"]\n[profiles.b]\nctx_size = 512\n')
    const envelope = await profiles.exportEnvelope(undefined)
    expect(Object.keys(envelope.profiles)).toEqual(['a', 'b'])
    expect(envelope.notes).toEqual([expect.stringContaining('"/srv/x.gguf"')])
    await put('[profiles.b]\nctx_size = 1024 # mine\n')
    expect(await profiles.importEnvelope({ envelope })).toEqual({
      created: ['a'],
      overwritten: [],
      skipped: [{ name: 'b', reason: 'there is one already' }],
    })
    expect(await get()).toContain('ctx_size = 1024 # mine')
    expect((await profiles.importEnvelope({ envelope, overwrite: true })).overwritten).toEqual(['a', 'b'])
    expect(await get()).toContain('ctx_size = 512 # mine')
  })

  it('takes all or nothing', async () => {
    await put('[profiles.a]\n')
    const envelope = await profiles.exportEnvelope(['a', 'agent'])
    const changed = { ...envelope, profiles: { ...envelope.profiles, a: { ctx_size: 512 } } }
    expect((await failure(profiles.importEnvelope({ envelope: changed }))).message).toContain('SHA-256')
    expect((await failure(profiles.importEnvelope({ envelope, overwrite: true }))).code).toBe('profile.immutable')
    const seed = createProfiles({ home: homeAt(join(folder, 'other')), knownRunners: () => [], version: '0' })
    expect((await seed.importEnvelope({ envelope })).created).toEqual(['a'])
    await put('[profiles.a]\nflags = ["--port", "1"]\n[profiles.b]\n')
    const denied = await profiles.exportEnvelope(['b', 'a'])
    await put('')
    expect((await failure(profiles.importEnvelope({ envelope: denied }))).code).toBe('profile.flag_denied')
    expect(await get()).toBe('')
  })
})

describe('rules', () => {
  it.each([
    [{ b: 1, a: [{ d: 'x', c: undefined }] }, '{"a":[{"d":"x"}],"b":1}'],
    ['ü', '"ü"'],
  ])('canonicalJson %j', (value, expected) => {
    expect(canonicalJson(value)).toBe(expected)
  })

  it('knows paths of this machine', () => {
    const words = ['--lora', '/x/y', '--lora=/z', '~/a', '0.5', '/', 'a/b', '-n']
    expect(hostPaths(words)).toEqual(['/x/y', '--lora=/z', '~/a'])
  })
})
