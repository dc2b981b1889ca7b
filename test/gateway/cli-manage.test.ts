import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Hal0Error } from '../../src/kernel/errors.ts'
import { runCli, startCli } from '../support/run-cli.ts'
import { startApi, type TestApi } from '../support/start-api.ts'
import { ENVELOPE, JOB, MODEL, PROFILE, RESOLVED } from '../support/stub-ports.ts'

let userFolder = ''
let api: TestApi
beforeAll(async () => {
  userFolder = await mkdtemp(join(tmpdir(), 'hal0-cli-manage-'))
  await writeFile(join(userFolder, 'long.json'), JSON.stringify(ENVELOPE))
  await writeFile(join(userFolder, 'bad.json'), '{"kind": "other"}')
})
afterAll(() => rm(userFolder, { recursive: true, force: true }))
beforeEach(async () => {
  api = await startApi()
})
afterEach(() => api.stop())

const hal0 = (...args: string[]) => runCli([...args, '--url', api.url], { userFolder })
const words = (text: string) => text.match(/"[^"]*"|\S+/g)?.map((word) => word.replace(/^"(.*)"$/, '$1')) ?? []

describe('each command asks the daemon for the right thing, and says what came of it', () => {
  it.each([
    [
      'slot create mine --model hello --profile chat --ngl -1 --ctx-size 4096 --thinking off --alias a --alias b --env A=b=c --set idle_timeout_s=60 --set npu.asr=true --autoload',
      'admin.create {"model":{"default":"hello"},"profile":"chat","n_gpu_layers":-1,"tune":{"ctx_size":4096,"enable_thinking":false},"autoload":true,"aliases":["a","b"],"server":{"env":{"A":"b=c"}},"idle_timeout_s":60,"npu":{"asr":true},"name":"mine"}',
      /^slot mine is made, with hello and profile chat; next: hal0 slot load mine$/m,
    ],
    ['slot create mine --profile "" --port ""', 'admin.create {"name":"mine"}', /^slot mine is made/],
    [
      'slot edit agent --profile "" --unset tune.ctx_size --priority 0 --no-autoload --alias ""',
      'admin.updateConfig "agent" {"profile":null,"autoload":false,"priority":0,"aliases":[],"tune":{"ctx_size":null}}',
      /^slot agent: changed profile\nneeds a restart: profile; next: hal0 slot restart agent$/m,
    ],
    [
      'slot edit agent --env A=1 --env B.C=2',
      'admin.updateConfig "agent" {"server":{"env":{"A":"1","B.C":"2"}}}',
      /changed/,
    ],
    ['slot delete agent', 'admin.remove "agent" {"force":false,"drainMs":30000}', /^slot agent is deleted$/m],
    ['slot delete agent --force --drain 0', 'admin.remove "agent" {"force":true,"drainMs":0}', /deleted/],
    ['slot rename coder coder2', 'admin.rename "coder" "coder2"', /^slot coder is coder2 now$/m],
    [
      'slot swap agent org/name.q8 --persist --drain 5',
      'admin.swap "agent" {"modelId":"org/name.q8","persist":true,"drainMs":5000}',
      /^slot agent is ready with org\/name\.q8/m,
    ],
    ['slot reseed', 'admin.reseed', /^agent\tmade\ncoder\tis there\nflm\tleft out: no NPU$/m],
    ['slot reseed agent', 'admin.reseed ["agent"]', /made/],
    ['profile list', 'profiles.list', /^long\town\t65536\tagent\t--temp 0\.2 'two words'\tLong texts$/m],
    ['profile show long', 'profiles.show "long"', /^kind\tyour own$/m],
    [
      'profile create cool --from chat --flags "--temp 0.2" --ctx-size 4096 --budget -1 --thinking on --intent "Short answers"',
      'profiles.create {"name":"cool","from":"chat","flags":"--temp 0.2","ctx_size":4096,"enable_thinking":true,"reasoning_budget":-1,"intent":"Short answers"}',
      /^profile cool is made/m,
    ],
    [
      'profile edit long --flags "" --unset intent --vision off',
      'profiles.update "long" {"flags":null,"vision":"off","intent":null}',
      /^profile long is changed; slots that run it take it up at their next start: agent$/m,
    ],
    ['profile delete long', 'profiles.remove "long"', /^profile long is deleted$/m],
    ['profile export', 'profiles.exportEnvelope', /"kind": "hal0\.profiles"/],
    ['profile export a b', 'profiles.exportEnvelope ["a","b"]', /hal0\.profiles/],
    [
      'profile import long.json --overwrite',
      `profiles.importEnvelope ${JSON.stringify({ envelope: ENVELOPE, overwrite: true })}`,
      /^long\tmade\nmine\tleft as it is: it is there$/m,
    ],
    ['model list', 'models.list', /^org\/name\.q8\t4\.4 GiB\tQ8_0\tllama\t8192\tagent\t$/m],
    ['model show org/name.q8', 'models.show "org/name.q8"', /^size\t4\.4 GiB$/m],
    [
      'model add x.gguf --id org/x --profile coding --mmproj /p.gguf --tag fast --mtp off',
      'models.add {"id":"org/x","path":"FOLDER/x.gguf","mmproj":"/p.gguf","mtp":false,"tags":["fast"],"preferred_profile":"coding"}',
      /^model org\/x is registered; next: hal0 slot create NAME --model org\/x$/m,
    ],
    ['model scan', 'models.scan {}', /^name\tnew\t1000 B\t\/models\/name\.gguf\n-\tpassed over: damaged\t/m],
    ['model scan . --register', 'models.scan {"folder":"FOLDER","register":true}', /name/],
    ['model inspect x.gguf', 'models.inspect "FOLDER/x.gguf"', /^architecture\tllama$/m],
    [
      'model rm org/name.q8 --delete-files',
      'models.remove "org/name.q8" {"deleteFiles":true}',
      /^model org\/name\.q8 is forgotten; 1 files? deleted, 1000 B freed$/m,
    ],
    ['model pull --cancel org/name.q8', 'pulls.cancel "org/name.q8"', /cancelled; what is there stays/],
    [
      'model pull org/Name-GGUF:Q8_0 --no-wait',
      'pulls.start "name-q8_0" {"repo":"org/Name-GGUF","quant":"Q8_0"}',
      /^pull name-q8_0: begun/m,
    ],
    [
      'model pull org/name a/b-Q4.gguf --revision main --no-wait',
      'pulls.start "b-q4" {"repo":"org/name","file":"a/b-Q4.gguf","revision":"main"}',
      /begun/,
    ],
    ['model pull mine --no-wait', 'pulls.start "mine" {}', /begun/],
    ['runner list', 'runners', /^cpu\tllama-server on the CPU\tllm\t-\t-\tThere is no llama-server on PATH\.$/m],
    [
      'config show',
      'settings',
      /^# \/tmp\/home\/etc\/hal0\/hal0\.toml, .*\n# It listens on http:.* than \[server\] names\.\n\[server\]\nhost = "127\.0\.0\.1"\nport = 8080$/m,
    ],
  ])('hal0 %s', async (line, asked, text) => {
    const run = await hal0(...words(line))
    expect(run).toMatchObject({ code: 0, stdout: expect.stringMatching(text) })
    expect(api.ports.asked.map((call) => call.replaceAll(userFolder, 'FOLDER'))).toEqual([asked])
  })
})

it.each([
  ['slot create mine', { name: 'mine', state: 'offline' }],
  ['slot edit agent --pinned', { name: 'agent', changed: ['profile'], restart_needed: ['profile'] }],
  ['slot delete agent', { name: 'agent', deleted: true }],
  ['profile list', { profiles: [PROFILE] }],
  ['profile delete long', { name: 'long', deleted: true }],
  ['model list', { models: [MODEL] }],
  ['model pull org/name --no-wait --id a', { ...JOB, id: 'a' }],
  ['config show', { file: '/tmp/home/etc/hal0/hal0.toml', running: true, settings: { server: { port: 8080 } } }],
])('hal0 %s --json is one document', async (line, document) => {
  const run = await hal0(...words(line), '--json')
  expect(run.code).toBe(0)
  expect(JSON.parse(run.stdout)).toMatchObject(document)
})

describe('slot resolved', () => {
  it('shows each flag with its layer and what it replaced, what was left out, and notes', async () => {
    const { stdout } = await hal0('slot', 'resolved', 'agent')
    expect(stdout).toContain('--temp\t0.2\tprofile\t--temperature 0.8 (model)\n')
    expect(stdout).toContain('Left out:\n-ngl\t9\tprofile\tthe slot owns it\n')
    expect(stdout).toContain('note: the window is beyond')
    expect(stdout).toContain('profile\tchat (default)\n')
    expect(stdout).toContain('restart needed\tprofile\n')
  })

  it('--argv is a line that a shell reads back', async () => {
    const { stdout } = await hal0('slot', 'resolved', 'agent', '--argv')
    expect(stdout).toBe(`/bin/llama-server --temp 0.2 --chat-template-kwargs '{"a": "it'\\''s"}'\n`)
    expect(JSON.parse((await hal0('slot', 'resolved', 'agent', '--json')).stdout)).toEqual(RESOLVED)
  })
})

describe('model pull', () => {
  const done = { ...JOB, state: 'done' as const, done_bytes: 1_000_000, finished_at: JOB.started_at }

  it('shows steps in a pipe and ends with the job', async () => {
    api.ports.setJobs([JOB, { ...JOB, done_bytes: 255_000 }, { ...JOB, done_bytes: 800_000, resumes: 1 }, done])
    api.ports.endFollow()
    const run = await hal0('model', 'pull', 'org/name', '--id', JOB.id)
    expect(run).toMatchObject({
      code: 0,
      stdout: 'model org/name.q8 is here (977 KiB); next: hal0 slot create NAME --model org/name.q8\n',
    })
    expect(run.stderr.trimEnd().split('\n')).toEqual([
      'pull org/name.q8: 244 KiB of 977 KiB (25 %), 48.8 KiB/s',
      'pull org/name.q8: 781 KiB of 977 KiB (80 %), 48.8 KiB/s, taken up again once',
      'pull org/name.q8: done, 977 KiB of 977 KiB (100 %)',
    ])
  })

  it('a job that fails ends with 1 and the job’s own error', async () => {
    const error = {
      message: 'the sum differs',
      type: 'server_error',
      param: null,
      code: 'pull.checksum_mismatch',
      details: { remedy: 'Pull again.' },
    }
    api.ports.setJobs([JOB, { ...JOB, state: 'failed', error }])
    api.ports.endFollow()
    const run = await hal0('model', 'pull', 'org/name')
    expect(run).toMatchObject({ code: 1, stdout: '' })
    expect(run.stderr).toMatch(/^hal0: the sum differs \(pull\.checksum_mismatch\)\n {2}Pull again\.$/m)
  })

  it('Ctrl-C stops watching, and says how to cancel', async () => {
    const child = startCli(['model', 'pull', 'org/name', '--id', JOB.id, '--url', api.url], { userFolder })
    await child.until('stderr', /25 %/)
    child.process.kill('SIGINT')
    const run = await child.ended
    expect(run.code).toBe(1)
    expect(run.stderr).toContain('Stopped watching; the pull of org/name.q8 goes on. (interrupted)')
    expect(run.stderr).toContain('`hal0 model pull --cancel org/name.q8` stops it')
    expect(api.ports.asked.filter((call) => call.startsWith('pulls.cancel'))).toEqual([])
  })

  it('a daemon that stops meanwhile is no success', async () => {
    const child = startCli(['model', 'pull', 'org/name', '--id', JOB.id, '--url', api.url], { userFolder })
    await child.until('stderr', /25 %/)
    api.close()
    expect(await child.ended).toMatchObject({ code: 1, stdout: '' })
  })
})

describe('what the daemon refuses is told with its remedy', () => {
  it.each([
    ['slot create mine --model x', Hal0Error.of('model.not_found', 'no model x')],
    ['slot edit agent --set model.context_size=1', Hal0Error.of('slot.tuning_key_denied', 'a profile owns it')],
    ['profile delete chat', Hal0Error.of('profile.immutable', 'chat is built in')],
    ['model rm x', Hal0Error.of('model.in_use', 'slot agent is bound to it')],
    ['model pull org/name', Hal0Error.of('hub.unreachable', 'no answer')],
  ])('hal0 %s', async (line, error) => {
    api.ports.failWith(error)
    const run = await hal0(...words(line))
    expect(run).toMatchObject({ code: 1, stdout: '' })
    expect(run.stderr).toContain(`hal0: ${error.message} (${error.code})\n  ${error.entry.remedy}`)
    const json = await hal0(...words(line), '--json')
    expect(JSON.parse(json.stderr).error).toMatchObject({ code: error.code, type: error.entry.type })
  })
})

describe('wrong usage ends with 2 before the daemon is asked', () => {
  it.each([
    ['slot create', /missing required argument 'name'/],
    ['slot create mine --temp 1', /unknown option '--temp'/],
    ['slot create mine --port 0', /whole number from 1 to 65535/],
    ['slot create mine --thinking maybe', /Expected on or off/],
    ['slot create mine --env A', /--env "A" is not KEY=VALUE/],
    ['slot create mine --set =1', /--set "=1" is not KEY=VALUE/],
    ['slot create mine --set profile=a --set profile.b=1', /profile is given a value already/],
    ['slot edit agent', /nothing to change/],
    ['profile edit long', /nothing to change/],
    ['profile create "A B"', /name: expected 1 to 32/],
    ['profile create a --speculation on', /speculation: expected "auto", "off" or "ngram"/],
    ['model pull', /nothing to pull/],
    ['model pull org/name:', /names no quantisation/],
    ['model pull org/name:Q8 a.gguf', /a quantisation already/],
    ['model pull name a.gguf', /"name" is no repository/],
    ['model pull org/name a.bin', /no \.gguf file/],
    ['model pull x --cancel y', /nothing else/],
    [
      'config edit frob',
      /no file kind frob; expected hal0, slot NAME, profiles or models\. \(usage\)\n {2}Write: hal0 config edit slot NAME/,
    ],
    ['config edit slto coder', /no file kind slto; .*\n {2}Write: hal0 config edit slot NAME/],
    ['config edit slot', /Which slot\?/],
    ['config edit hal0', /needs a terminal/],
    ['config frob', /unknown command 'frob'/],
    ['ps', /^hal0: did you mean `hal0 slot list`\?$/m],
    ['ls --json', /Did you mean `hal0 model list`\?/],
    ['run llama "What is a slot?"', /^hal0: did you mean `hal0 chat`\?$/m],
    ['--home x pull llama', /^hal0: did you mean `hal0 model pull`\?$/m],
    ['slot ls', /^hal0: did you mean `hal0 slot list`\?$/m],
  ])('hal0 %s', async (line, text) => {
    const run = await hal0(...words(line))
    expect(run).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(text) })
    expect(api.ports.asked).toEqual([])
  })
})

describe('files of an export', () => {
  it('-o writes one that import takes', async () => {
    const run = await hal0('profile', 'export', '-o', 'out.json')
    expect(run).toMatchObject({ code: 0, stdout: 'out.json holds long\n' })
    expect(JSON.parse(await readFile(join(userFolder, 'out.json'), 'utf8'))).toEqual(ENVELOPE)
    expect((await hal0('profile', 'import', 'out.json')).code).toBe(0)
  })

  it.each([
    ['bad.json', /bad\.json is no export of profiles: kind: expected "hal0\.profiles"/],
    ['nowhere.json', /ENOENT/],
  ])('%s', async (file, text) => {
    expect(await hal0('profile', 'import', file)).toMatchObject({ code: 1, stderr: expect.stringMatching(text) })
    expect(api.ports.asked).toEqual([])
  })

  it('what is piped in', async () => {
    const input = JSON.stringify(ENVELOPE)
    expect(await runCli(['profile', 'import', '-', '--url', api.url], { userFolder, input })).toMatchObject({ code: 0 })
  })
})

describe('config validate needs no daemon', () => {
  it('lists every mistake and ends with 1; without any with 0', async () => {
    const home = join(userFolder, 'home')
    await mkdir(join(home, 'etc/hal0/slots'), { recursive: true })
    await writeFile(join(home, 'etc/hal0/hal0.toml'), '[server]\nprot = 1\n')
    await writeFile(join(home, 'etc/hal0/slots/a.toml'), 'name = "a"\ndevice = "tpu"\n')
    const run = await runCli(['config', 'validate', '--home', home], { userFolder })
    expect(run.code).toBe(1)
    expect(run.stdout).toMatch(/^mistake\t.*hal0\.toml\tserver\.prot\t.*port/m)
    expect(run.stdout).toMatch(/^mistake\t.*a\.toml\tdevice\t/m)
    const json = await runCli(['config', 'validate', '--home', home, '--json'], { userFolder })
    expect(JSON.parse(json.stdout)).toMatchObject({ home, mistakes: [{}, {}] })
    await rm(join(home, 'etc/hal0/hal0.toml'))
    await rm(join(home, 'etc/hal0/slots/a.toml'))
    expect(await runCli(['config', 'validate', '--home', home], { userFolder })).toMatchObject({ code: 0, stdout: '' })
  })
})

it('slot list shows the profile', async () => {
  expect((await hal0('slot', 'list')).stdout).toMatch(/^agent\tready\thello\tchat\tcpu\tcpu\t8081\t2\t0\t$/m)
})
