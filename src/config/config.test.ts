import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'smol-toml'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { failure } from '../../test/support/failure.ts'
import { type Home, homeAt } from '../files/home.ts'
import { findModelRow, modelsFilePath, moveModel, readModels, registerModel } from './models/models-file.ts'
import {
  daemonSettingsPath,
  daemonSettingsSchema,
  readDaemonSettings,
  redactSettings,
} from './settings/daemon-settings.ts'
import { isAutoloaded, runnerKeyOf } from './slots/rules/slot-defaults.ts'
import { listSlotFiles, readSlotFile, removeSlotFile, slotFilePath, slotsFolder } from './slots/slot-file.ts'
import { guardSlotText, guardSlotWrite } from './slots/slot-gate.ts'
import { patchSlotFile, renameSlotFile, writeSlotFile } from './slots/write-slot.ts'

let folder: string
let home: Home

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-config-'))
  home = homeAt(folder)
  await mkdir(join(home.etc, 'slots'), { recursive: true })
})
afterEach(() => rm(folder, { recursive: true, force: true }))

describe('hal0.toml', () => {
  it('is all defaults when absent', async () => {
    const settings = await readDaemonSettings(home)
    expect(settings.server).toEqual({
      host: '127.0.0.1',
      port: 8080,
      allowed_hosts: [],
      trusted_proxies: [],
      json_limit_bytes: 67_108_864,
      form_limit_bytes: 1_073_741_824,
      body_memory_bytes: 1_073_741_824,
      spill_limit_bytes: 4_294_967_296,
    })
    expect(settings.dispatcher.load_wait_s).toBe(60)
    expect(settings.slots.port_range).toEqual([8081, 8999])
  })

  it('reports every mistake at once, with place, expectation and nearest key', async () => {
    await writeFile(
      daemonSettingsPath(home),
      '[server]\nport = "x"\nallowd_hosts = []\n[slots]\nport_range = [9000, 8000]\non_exit = "kill"\n[zzz]\n',
    )
    const { code, message } = await failure(readDaemonSettings(home))
    expect(code).toBe('config.invalid')
    const file = daemonSettingsPath(home)
    for (const part of [
      `${file}: server.port: `,
      `${file}: server.allowd_hosts: unknown key; did you mean allowed_hosts?`,
      `${file}: slots.port_range: expected two ports above 0, lowest first`,
      `${file}: slots.on_exit: expected "stop" or "keep"`,
      `${file}: zzz: unknown key; known are server, slots, dispatcher, models, scheduler, security, notify, runners`,
    ]) {
      expect(message).toContain(part)
    }
  })

  it('names line and column of what is not TOML', async () => {
    await writeFile(daemonSettingsPath(home), '[server]\nport = = 1\n')
    expect((await failure(readDaemonSettings(home))).message).toContain('line 2, column 8')
  })

  it('knows the keys inside a record', async () => {
    await writeFile(daemonSettingsPath(home), '[runners.cpu]\nbinray = "/x"\n')
    expect((await failure(readDaemonSettings(home))).message).toContain('did you mean binary?')
  })

  it('takes the runners that can be configured', async () => {
    await writeFile(
      daemonSettingsPath(home),
      '[runners.cpu]\nbinary = "/x"\non_client_abort = "drain"\n[runners.cuda]\nbinary = "/y"\n',
    )
    expect((await readDaemonSettings(home)).runners).toEqual({
      cpu: { binary: '/x', on_client_abort: 'drain' },
      cuda: { binary: '/y' },
    })
  })

  it('takes a runner of the user with its template', async () => {
    const runner = {
      template: ['/opt/engine', '--port=${PORT}', '${MODEL}'],
      health_path: '/up',
      stop_signal: 'SIGINT',
      types: ['llm'],
      routes: ['/v1/chat/completions'],
    }
    await writeFile(daemonSettingsPath(home), stringify({ runners: { mine: runner } }))
    expect((await readDaemonSettings(home)).runners).toEqual({ mine: runner })
  })

  it('takes every section, and hides what is secret', async () => {
    await writeFile(
      daemonSettingsPath(home),
      `[server]
trusted_proxies = ["10.0.0.0/8", "::1"]
[slots]
admission = "warn"
groups = { big = ["a", "b"] }
[models]
scan = ["/models"]
hub_endpoint = "http://127.0.0.1:9000"
[scheduler]
tick_seconds = 1
[security]
session_hours = 8
[notify]
webhook = { url = "https://example.org/hook", secret = "s3cret" }
smtp = { host = "mail", from = "hal0@example.org", password = "pa55" }
`,
    )
    const settings = await readDaemonSettings(home)
    expect(settings.slots).toMatchObject({ admission: 'warn', groups: { big: ['a', 'b'] }, idle_timeout_s: 300 })
    expect(settings.dispatcher.on_demand_slot).toBe('scratch')
    expect(settings.scheduler).toMatchObject({ tick_seconds: 1, buffer_seconds: 60, disk_read_mbps: 150 })
    const shown = JSON.stringify(redactSettings(settings))
    expect(shown).toContain('https://example.org/hook')
    expect(shown).not.toMatch(/s3cret|pa55/)
  })

  it.each([
    ['https://example.org/hook', 'https://example.org/hook'],
    ['https://me:pa55@example.org/hook?key=s3cret', 'https://me:set@example.org/hook?set'],
  ])('a webhook at %s is shown as %s', (url, shown) => {
    const settings = daemonSettingsSchema.parse({ notify: { webhook: { url } } })
    expect(redactSettings(settings).notify.webhook?.url).toBe(shown)
  })

  it.each([
    [
      'a runner nobody knows',
      '[runners.cpuu]\nbinary = "/x"',
      "runners.cpuu: no runner of hal0's has this key; did you mean cpu?",
    ],
    ['the embedded one', '[runners.embedded]\nbinary = "/x"', 'runners.embedded: the embedded engine comes with hal0'],
    ['another end of a request', '[runners.cpu]\non_client_abort = "no"', 'expected "abort" or "drain"'],
    [
      'a template for a known runner',
      '[runners.cpu]\ntemplate = ["x", "${PORT}"]',
      'runners.cpu: hal0 knows how to start cpu',
    ],
    ['a template without a port', '[runners.mine]\ntemplate = ["x"]', 'runners.mine.template: expected ${PORT}'],
    ['a key that only templates have', '[runners.cpu]\nhealth_path = "/x"', 'runners.cpu: health_path'],
    [
      'a network that is none',
      '[server]\ntrusted_proxies = ["10.0.0.0/33"]',
      'server.trusted_proxies.0: expected an address',
    ],
    ['a folder that is relative', '[models]\nscan = ["models"]', 'models.scan.0: expected an absolute path'],
    ['a group of one', '[slots.groups]\nbig = ["a"]', 'slots.groups.big: expected at least two slots'],
    ['a hub that is none', '[models]\nhub_endpoint = "hub"', 'models.hub_endpoint: expected an http or https URL'],
    ['a clock that stands', '[scheduler]\ntick_seconds = 0', 'scheduler.tick_seconds: expected 0.1 or more'],
    ['an arbiter nobody knows', '[slots]\narbiter = "yes"', 'slots.arbiter: expected "auto", "on" or "off"'],
  ])('refuses %s', async (_name, text, part) => {
    await writeFile(daemonSettingsPath(home), `${text}\n`)
    expect((await failure(readDaemonSettings(home))).message).toContain(part)
  })
})

describe('a settings file that is none', () => {
  it.each([
    ['a pipe', (path: string) => void spawnSync('mkfifo', [path]), 'expected a regular file'],
    ['a folder', (path: string) => mkdirSync(path), 'expected a regular file'],
    ['too large', (path: string) => writeFileSync(path, '#'.repeat(2 ** 20 + 1)), 'at most 1048576 bytes'],
  ])('%s is refused at once', async (_name, make, part) => {
    make(daemonSettingsPath(home))
    expect((await failure(readDaemonSettings(home))).message).toContain(part)
    make(slotFilePath(home, 'a'))
    expect((await failure(readSlotFile(home, 'a'))).message).toContain(part)
  })
})

describe('slot files', () => {
  it('fills in what is absent', async () => {
    await writeFile(slotFilePath(home, 'agent'), 'name = "agent"\n[model]\ndefault = "hello"\n')
    const config = await readSlotFile(home, 'agent')
    expect(config).toMatchObject({ device: 'cpu', type: 'llm', n_gpu_layers: -1, threads: 0 })
    expect(config && isAutoloaded(config)).toBe(true)
    expect(config && runnerKeyOf(config)).toBe('embedded')
  })

  it('does not autoload a slot without a model, nor one that says no', async () => {
    await writeFile(slotFilePath(home, 'a'), 'name = "a"\n')
    await writeFile(slotFilePath(home, 'b'), 'name = "b"\nautoload = false\n[model]\ndefault = "m"\n')
    const [a, b] = [await readSlotFile(home, 'a'), await readSlotFile(home, 'b')]
    expect([a && isAutoloaded(a), b && isAutoloaded(b)]).toEqual([false, false])
  })

  it.each([
    ['another name than the file', 'name = "other"', 'config.invalid', 'name: expected "agent"'],
    ['a port that cannot be', 'name = "agent"\nport = 70000', 'config.invalid', 'port: '],
    [
      'a mistyped key',
      'name = "agent"\n[model]\ndefualt = "m"',
      'config.invalid',
      'model.defualt: unknown key; did you mean default?',
    ],
    [
      'a variable read as an option',
      'name = "agent"\n[server.env]\nLLAMA_ARG_PORT = "1"',
      'slot.llama_env_denied',
      'LLAMA_ARG_PORT',
    ],
    ['the loader', 'name = "agent"\n[server.env]\nLD_PRELOAD = "/x.so"', 'slot.llama_env_denied', 'LD_PRELOAD'],
    ['the engine key', 'name = "agent"\n[server.env]\nLLAMA_API_KEY = "k"', 'slot.llama_env_denied', 'LLAMA_API_KEY'],
  ])('refuses %s, from disk and from a writer alike', async (_name, text, code, part) => {
    await writeFile(slotFilePath(home, 'agent'), text)
    const read = await failure(readSlotFile(home, 'agent'))
    expect([read.code, read.message]).toEqual([code, expect.stringContaining(part)])
    const context = { file: slotFilePath(home, 'agent'), name: 'agent', source: 'cli' } as const
    const written = code === 'config.invalid' ? 'validation.invalid' : code
    expect(() => guardSlotText(`${text}\n`, context)).toThrow(expect.objectContaining({ code: written }))
    expect(await readFile(slotFilePath(home, 'agent'), 'utf8')).toBe(text)
  })

  it('lists names, passes over what editors leave behind, and names what can be no slot', async () => {
    const leftovers = ['a.toml~', '.a.toml.swp', '.hidden.toml', 'c.toml.bak', 'a.toml.swp', 'notes.txt']
    const unfit = ['Agent2.toml', 'a b.toml', `${'x'.repeat(33)}.toml`, 'shouted.TOML']
    for (const name of ['b.toml', 'a.toml', ...leftovers, ...unfit]) {
      await writeFile(join(home.etc, 'slots', name), '')
    }
    expect(await listSlotFiles(home)).toEqual({ names: ['a', 'b'], unfit: unfit.toSorted() })
  })

  it('takes an absent folder for an empty one, and says so when it cannot look', async () => {
    await rm(slotsFolder(home), { recursive: true })
    expect(await listSlotFiles(home)).toEqual({ names: [], unfit: [] })
    await writeFile(slotsFolder(home), 'a file where the folder should be')
    const error = await failure(listSlotFiles(home))
    expect([error.code, error.message]).toEqual(['config.invalid', expect.stringContaining(slotsFolder(home))])
  })

  const context = (name: string) => ({ file: slotFilePath(home, name), name, source: 'cli' }) as const

  it('writes a new slot, and changes one with its comments', async () => {
    await writeSlotFile(home, guardSlotWrite({ name: 'a', autoload: false }, context('a')))
    expect(await readFile(slotFilePath(home, 'a'), 'utf8')).toBe('name = "a"\nautoload = false\n')
    await writeFile(slotFilePath(home, 'b'), '# mine\nname = "b"\npriority = 3 # low\n[model]\ndefault = "m" # an id\n')
    const changed = await patchSlotFile(home, 'b', { priority: null, model: { default: 'n' }, port: 9000 }, 'api')
    expect(changed.config).toMatchObject({ priority: 50, port: 9000, model: { default: 'n' } })
    const text = await readFile(slotFilePath(home, 'b'), 'utf8')
    expect(text).toContain('# mine\n')
    expect(text).toContain('default = "n" # an id')
    expect(text).not.toContain('priority')
  })

  it('writes nothing when a patch is refused, or when the file is no TOML', async () => {
    const text = 'name = "a"\n'
    await writeFile(slotFilePath(home, 'a'), text)
    expect((await failure(patchSlotFile(home, 'a', { prot: 1 }, 'api'))).message).toContain('did you mean port?')
    expect(await readFile(slotFilePath(home, 'a'), 'utf8')).toBe(text)
    await writeFile(slotFilePath(home, 'a'), 'name = \n')
    const whole = guardSlotWrite({ name: 'a' }, context('a'))
    expect((await failure(writeSlotFile(home, whole))).code).toBe('config.invalid')
    expect((await failure(patchSlotFile(home, 'a', { port: 1 }, 'api'))).code).toBe('config.invalid')
    expect(await readFile(slotFilePath(home, 'a'), 'utf8')).toBe('name = \n')
    expect((await failure(patchSlotFile(home, 'none', {}, 'api'))).code).toBe('slot.not_found')
  })

  it('does not write a slot into the home of another', async () => {
    const stray = guardSlotWrite({ name: 'a' }, { file: '/elsewhere/a.toml', name: 'a', source: 'cli' })
    await expect(writeSlotFile(home, stray)).rejects.toThrow('was guarded')
    expect((await listSlotFiles(home)).names).toEqual([])
  })

  it('renames with the comments, and removes', async () => {
    await writeFile(slotFilePath(home, 'a'), '# mine\nname = "a" # the name\nport = 9000\n')
    await writeFile(slotFilePath(home, 'c'), 'name = "c"\n')
    expect((await failure(renameSlotFile(home, 'a', 'c', 'api'))).code).toBe('slot.exists')
    expect((await failure(renameSlotFile(home, 'a', 'No!', 'api'))).code).toBe('validation.invalid')
    // A token may stand in it: what was private stays so.
    await chmod(slotFilePath(home, 'a'), 0o600)
    await renameSlotFile(home, 'a', 'b', 'api')
    expect((await stat(slotFilePath(home, 'b'))).mode & 0o777).toBe(0o600)
    expect((await listSlotFiles(home)).names).toEqual(['b', 'c'])
    expect(await readFile(slotFilePath(home, 'b'), 'utf8')).toBe('# mine\nname = "b" # the name\nport = 9000\n')
    await removeSlotFile(home, 'b')
    await removeSlotFile(home, 'b')
    expect((await listSlotFiles(home)).names).toEqual(['c'])
  })
})

describe('models.toml', () => {
  it('adds a row and keeps comments and rows that are there', async () => {
    await writeFile(modelsFilePath(home), '# mine\n[models.a]\npath = "/a.gguf"\n')
    await registerModel(home, 'org/b.q8', '/b "x".gguf')
    await registerModel(home, 'org/b.q8', '/b "x".gguf')
    expect([...(await readModels(home))]).toEqual([
      ['a', '/a.gguf'],
      ['org/b.q8', '/b "x".gguf'],
    ])
    expect(await readFile(modelsFilePath(home), 'utf8')).toContain('# mine')
  })

  it('says what is wrong with an id', async () => {
    await writeFile(modelsFilePath(home), '[models."a b"]\npath = "/a.gguf"\n')
    expect((await failure(readModels(home))).message).toContain('models.a b: expected a model id')
  })

  it('follows a file that was moved, and leaves all else as it is', async () => {
    const text = '# mine\n[models.a]\npath = "/old/a.gguf" # here\n[models.b]\npath = "/old/b.gguf"\n'
    await writeFile(modelsFilePath(home), text)
    expect(await moveModel(home, '/old/a.gguf', '/new "x"/a.gguf')).toBe(true)
    expect([...(await readModels(home))]).toEqual([
      ['a', '/new "x"/a.gguf'],
      ['b', '/old/b.gguf'],
    ])
    expect(await readFile(modelsFilePath(home), 'utf8')).toContain('# here')
    // Spelt in a way that is not replaced: nothing is written.
    await writeFile(modelsFilePath(home), "[models.a]\npath = '/old/a.gguf'\n")
    expect(await moveModel(home, '/old/a.gguf', '/new/a.gguf')).toBe(false)
    expect([...(await readModels(home)).values()]).toEqual(['/old/a.gguf'])
  })

  it('does not give an id another file', async () => {
    await registerModel(home, 'a', '/a.gguf')
    expect((await failure(registerModel(home, 'a', '/b.gguf'))).code).toBe('model.exists')
  })

  it('names the registry and what it knows when a model is missing', async () => {
    await registerModel(home, 'a', '/a.gguf')
    const error = await failure(findModelRow(home, 'b'))
    expect(error.code).toBe('model.not_found')
    expect(error.message).toContain('known: a')
  })
})
