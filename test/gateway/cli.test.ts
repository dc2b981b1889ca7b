import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { repoRoot, runCli } from '../support/run-cli.ts'

let userFolder = ''
beforeAll(async () => {
  userFolder = await mkdtemp(join(tmpdir(), 'hal0-cli-'))
})
afterAll(() => rm(userFolder, { recursive: true, force: true }))

const hal0 = (...args: string[]) => runCli(args, { userFolder })

describe('without a daemon', () => {
  it('doctor needs none, ends with 0 here and says what each thing gives', async () => {
    const run = await hal0('doctor', '--json', '--home', join(userFolder, 'home'))
    expect(run.code).toBe(0)
    const diagnosis = JSON.parse(run.stdout)
    expect(diagnosis.ok).toBe(true)
    expect(diagnosis.findings.map((finding: { name: string }) => finding.name)).toEqual([
      'node',
      'system',
      'home',
      'flock',
      'embedded-engine',
      'llama-server',
      'gpu',
      'nvidia-smi',
      'podman',
      'systemd',
      'memory',
      'history',
      'settings',
      'secrets',
      'slots',
      'profiles',
      'models',
      'runner-keys',
    ])
    for (const finding of diagnosis.findings) {
      expect(finding).toEqual({
        name: expect.any(String),
        ok: expect.any(Boolean),
        required: expect.any(Boolean),
        found: expect.stringMatching(/./),
        gives: expect.stringMatching(/./),
      })
    }
    // In a pipe: one line of tab-separated cells per finding.
    const plain = await hal0('doctor', '--home', join(userFolder, 'home'))
    expect(plain.stdout.trimEnd().split('\n')).toHaveLength(18)
    expect(plain.stdout).toMatch(/^ok\tnode\tNode\.js /)
  })

  it('doctor ends with 1 where hal0 cannot run, and names the place', async () => {
    await writeFile(join(userFolder, 'a-file'), '')
    const run = await hal0('doctor', '--home', join(userFolder, 'a-file'))
    expect(run.code).toBe(1)
    expect(run.stdout).toMatch(/^FAIL\thome\t.*a-file is in the way/m)
  })

  it('doctor ends with 1 for mistakes in hal0.toml, which stop the daemon, and names them', async () => {
    const home = join(userFolder, 'bad-settings')
    await mkdir(join(home, 'etc/hal0'), { recursive: true })
    await writeFile(join(home, 'etc/hal0/hal0.toml'), '[server]\nprot = 1\n')
    const run = await hal0('doctor', '--home', home)
    expect(run.code).toBe(1)
    expect(run.stdout).toMatch(
      /^FAIL\tsettings\t.*hal0\.toml: server\.prot: unknown key; did you mean port\?; the daemon does not start\t/m,
    )
    await writeFile(join(home, 'etc/hal0/hal0.toml'), 'port = \n')
    const broken = await hal0('doctor', '--home', home)
    expect(broken.stdout).toMatch(/^FAIL\tsettings\t.*hal0\.toml: line 1, column \d+: not valid TOML: /m)
  })

  it('doctor tells which slot files have mistakes and which models are gone, and ends with 0', async () => {
    const home = join(userFolder, 'bad-files')
    await mkdir(join(home, 'etc/hal0/slots'), { recursive: true })
    await writeFile(join(home, 'etc/hal0/slots/good.toml'), 'name = "good"\n')
    await writeFile(join(home, 'etc/hal0/slots/bad.toml'), 'name = "bad"\ndevice = "tpu"\n')
    await writeFile(join(home, 'etc/hal0/models.toml'), '[models.lost]\npath = "/nowhere/lost.gguf"\n')
    const run = await hal0('doctor', '--home', home)
    expect(run.code).toBe(0)
    expect(run.stdout).toMatch(/^ok\tsettings\t/m)
    expect(run.stdout).toMatch(/^warn\tslots\t[^\n]*bad\.toml: device/m)
    expect(run.stdout).not.toContain('good.toml')
    expect(run.stdout).toMatch(/^warn\tmodels\t[^\n]*models\.lost\.path: there is no readable \/nowhere\/lost\.gguf/m)
  })

  it('doctor names engines that anybody on the machine can talk to, and the slots that use them', async () => {
    const home = join(userFolder, 'keyless')
    await mkdir(join(home, 'etc/hal0/slots'), { recursive: true })
    const settings = [
      '[runners.kokoro]\nbinary = "/bin/true"',
      '[runners.open]\ntemplate = ["/bin/true", "${PORT}"]',
      '[runners.keyed]\ntemplate = ["/bin/true", "${PORT}"]\nkey_env = "MY_KEY"',
      '[runners.comfyui]\nbinary = "/nowhere/comfyui"',
    ]
    await writeFile(join(home, 'etc/hal0/hal0.toml'), `${settings.join('\n')}\n`)
    // By its profile, and by its own word.
    await writeFile(join(home, 'etc/hal0/slots/tts.toml'), 'name = "tts"\ntype = "tts"\n')
    await writeFile(join(home, 'etc/hal0/slots/x.toml'), 'name = "x"\nbinary = "keyed"\n')
    const run = await hal0('doctor', '--home', home)
    expect(run.code).toBe(0)
    expect(run.stdout).toMatch(/^warn\trunner-keys\t[^\n]*kokoro \(slots tts\), open \(no slot uses it\);/m)
    expect(run.stdout).not.toMatch(/runner-keys\t[^\n]*(keyed|comfyui)/)
  })

  it('--version prints the one of package.json', async () => {
    const run = await hal0('--version')
    expect(run).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) })
  })

  it.each([
    [[], /Usage: hal0/],
    [['slot'], /Usage: hal0 slot/],
    [['frobnicate'], /unknown command 'frobnicate'/],
    [['slot', 'list', '--frob'], /unknown option '--frob'/],
    [['slot', 'show'], /missing required argument 'name'/],
    [['slot', 'logs', 'agent', '-n', 'many'], /whole number from 0 to 10000/],
    [['serve', '--port', '70000'], /whole number from 0 to 65535/],
    [['status', 'extra'], /too many arguments/],
    [['status', '--url', 'not a url'], /--url is "not a url"/],
    [['quickstart', '--ask'], /argument missing/],
    [['quickstart', '--ask', ''], /nothing to ask/],
    [['quickstart', '--model', ''], /--model is empty/],
    [['quickstart', '--url', 'http://127.0.0.1:9'], /quickstart runs a daemon of its own/],
    [['serve', '--url', 'http://127.0.0.1:9'], /serve runs a daemon of its own/],
    [['chat', '--slot', '', 'hello'], /--slot is empty/],
    [['help', 'frobnicate'], /unknown command 'frobnicate'/],
    [['chat', '--url', 'http://127.0.0.1:9'], /nothing to ask/],
  ])('wrong usage ends with 2: hal0 %j', async (args, text) => {
    const run = await hal0(...args)
    expect(run).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(text) })
  })

  it.each(
    [
      ['status'],
      ['slot', 'list'],
      ['slot', 'show', 'agent'],
      ['slot', 'load', 'agent'],
      ['slot', 'unload', 'agent'],
      ['slot', 'restart', 'agent'],
      ['slot', 'logs', 'agent'],
      ['slot', 'logs', 'agent', '-f'],
      ['chat', 'hello'],
      ['slot', 'create', 'mine'],
      ['slot', 'resolved', 'mine'],
      ['model', 'list'],
      ['model', 'pull', 'org/name'],
      ['profile', 'list'],
      ['runner', 'list'],
    ].map((args) => [args]),
  )('no daemon ends with 3 and one remedy: hal0 %j', async (args) => {
    const run = await hal0(...args, '--home', join(userFolder, 'nobody'))
    expect(run).toMatchObject({ code: 3, stdout: '' })
    expect(run.stderr.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^hal0: No hal0 daemon runs in .*nobody .*\(daemon\.unreachable\)$/),
      expect.stringMatching(/^ {2}Start it with `hal0 serve`/),
    ])
  })

  it('an address where nobody listens ends with 3, also as JSON on stderr', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    const url = `http://127.0.0.1:${port}`
    const run = await hal0('slot', 'list', '--json', '--url', url)
    expect(run).toMatchObject({ code: 3, stdout: '' })
    expect(JSON.parse(run.stderr)).toEqual({
      error: {
        message: `No hal0 daemon answers at ${url} (connection refused)`,
        type: 'connection_error',
        param: null,
        code: 'daemon.unreachable',
        details: { url, remedy: expect.any(String) },
      },
    })
    const byEnv = await runCli(['slot', 'list'], { userFolder, env: { HAL0_API_URL: url } })
    expect(byEnv).toMatchObject({ code: 3, stderr: expect.stringContaining(url) })
  })

  it.each([
    [['help', 'slot', 'load'], ['slot', 'load', '--help'], /^Usage: hal0 slot load .*\n[^]*--url/],
    [['help', 'slot'], ['slot', '--help'], /^Usage: hal0 slot /],
    [['help'], ['--help'], /^Usage: hal0 /],
  ])('hal0 %j prints the help of that command', async (args, same, text) => {
    const run = await hal0(...args)
    expect(run).toMatchObject({ code: 0, stdout: expect.stringMatching(text) })
    expect(run.stdout).toBe((await hal0(...same)).stdout)
  })

  it.each(['quickstart', 'serve'])('the help of %s offers no --url', async (command) => {
    const { stdout } = await hal0(command, '--help')
    expect(stdout).toContain('--home')
    expect(stdout).not.toContain('--url')
    expect(stdout.includes('/etc/hal0')).toBe(command === 'serve')
  })

  it('a daemon that does not speak TLS: one line that says so', async () => {
    const server = createServer((_request, response) => response.end()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    try {
      const run = await hal0('status', '--url', `https://127.0.0.1:${port}`)
      expect(run.code).toBe(3)
      expect(run.stderr.trimEnd().split('\n')).toEqual([
        expect.stringContaining('(it does not speak TLS; try http:// instead of https://) (daemon.unreachable)'),
        expect.stringMatching(/^ {2}Start it/),
      ])
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })

  it.each([['serve'], ['quickstart'], ['quickstart', '--ask', 'hi']].map((args) => [args]))(
    'a home that cannot be made: hal0 %j says so and what to do',
    async (args) => {
      await writeFile(join(userFolder, 'a-file'), '')
      const run = await hal0(...args, '--port', '0', '--home', join(userFolder, 'a-file'))
      expect(run).toMatchObject({ code: 1, stdout: '' })
      expect(run.stderr.trimEnd().split('\n')).toEqual([
        expect.stringMatching(/^hal0: .*a-file cannot be hal0's home: ENOTDIR.* \(config\.invalid\)$/),
        '  Choose a folder you can write: --home DIR, or HAL0_HOME.',
      ])
    },
  )

  it('something else at the address is a failure, not an unreachable daemon', async () => {
    const server = createServer((_request, response) => response.end('hello')).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    try {
      const run = await hal0('status', '--url', `http://127.0.0.1:${port}`)
      expect(run).toMatchObject({ code: 1, stderr: expect.stringContaining('Not an answer of a hal0 daemon') })
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })

  it('a reader that leaves early is no failure', async () => {
    const script = 'node dist/cli/main.js doctor --json | head -c 1; echo "${PIPESTATUS[0]}"'
    const child = spawn('bash', ['-c', script], { cwd: repoRoot, stdio: ['ignore', 'pipe', 'pipe'] })
    const chunks: Buffer[] = []
    const complaints: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => complaints.push(chunk))
    await once(child, 'close')
    expect(Buffer.concat(chunks).toString()).toBe('{0\n')
    expect(Buffer.concat(complaints).toString()).toBe('')
  })
})

describe('quickstart --model refuses what is no model, before anything is started or written', () => {
  it.each([
    ['absent.gguf', /There is no file .*absent\.gguf/],
    ['text.gguf', /text\.gguf is not a GGUF file/],
    ['folder.gguf', /folder\.gguf is a folder/],
  ])('%s', async (file, text) => {
    await writeFile(join(userFolder, 'text.gguf'), 'some text')
    await mkdir(join(userFolder, 'folder.gguf'), { recursive: true })
    const home = join(userFolder, 'model-home')
    const run = await hal0('quickstart', '--home', home, '--port', '0', '--model', file, '--ask', 'x')
    expect(run).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(text) })
    const after = await hal0('status', '--home', home)
    expect(after.code).toBe(3)
  })
})

describe('wrong usage with --json is told as JSON, on stderr', () => {
  it.each([
    [['nope'], /unknown command 'nope'/],
    [['slot'], /command is missing/i],
    [['slot', 'show'], /missing required argument 'name'/],
    [['slot', 'list', '--nope'], /unknown option '--nope'/],
    [['slot', 'create', 'a', '--port', 'x'], /whole number/],
    [['model', 'show', ''], /<id> is empty/],
  ] as const)('%j', async (words, message) => {
    const run = await hal0('--json', ...words)
    expect([run.code, run.stdout]).toEqual([2, ''])
    expect(JSON.parse(run.stderr)).toMatchObject({
      error: {
        code: 'usage',
        type: 'usage_error',
        message: expect.stringMatching(message),
        details: expect.anything(),
      },
    })
  })

  it('help that was asked for stays text', async () => {
    expect(await hal0('slot', '--help', '--json')).toMatchObject({ code: 0, stderr: '' })
  })
})

// An unset variable of a script: as a path it meant the current folder, as a name another address of the API.
describe('"" where a name or a path belongs is wrong usage', () => {
  it.each([
    [['model', 'add', ''], '<file>'],
    [['model', 'add', '/m.gguf', '--mmproj', ''], '--mmproj'],
    [['model', 'scan', ''], '<folder>'],
    [['model', 'inspect', ''], '<file>'],
    [['model', 'rm', ''], '<id>'],
    [['model', 'pull', ''], '<repo>'],
    [['slot', 'show', ''], '<name>'],
    [['profile', 'export', 'a', ''], '<name>'],
    [['profile', 'delete', ''], '<name>'],
    [['status', '--url', ''], '--url'],
    [['--home', '', 'status'], '--home'],
  ] as const)('%j', async (words, what) => {
    const run = await hal0(...words)
    expect([run.code, run.stdout]).toEqual([2, ''])
    expect(run.stderr).toMatch(new RegExp(`^hal0: ${what} is empty\\. \\(usage\\)\\n`))
  })

  it('chat has nothing to ask', async () => {
    const run = await hal0('chat', '', ' ')
    expect(run).toMatchObject({ code: 2, stdout: '' })
    expect(run.stderr).toContain('nothing to ask')
  })

  it('the id of a pull is one', async () => {
    const run = await hal0('model', 'pull', 'org/name', '--id', 'not an id')
    expect(run).toMatchObject({ code: 2, stdout: '' })
    expect(run.stderr).toContain('cannot be the id of a model')
  })
})
