import { spawnSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Home, homeAt } from '../../files/home.ts'
import { validateHome } from './validate-home.ts'

let folder: string
let home: Home

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-validate-'))
  home = homeAt(folder)
})
afterEach(() => rm(folder, { recursive: true, force: true }))

async function put(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    const path = join(home.etc, name)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, text)
  }
}

/** Each mistake as `code file key`, the folder left out. */
async function mistakes(): Promise<string[]> {
  const report = await validateHome(home)
  return report.mistakes.map(({ code, file, key }) => `${code} ${file.slice(home.etc.length + 1)} ${key}`).toSorted()
}

describe('secrets of hal0.toml', () => {
  const text = `[notify.webhook]
url = "http://hook.example/"
secret = "s3cret"
[notify.smtp]
host = "mail.example"
from = "hal0@example.org"
password = "p4ssword"
`
  it.each([
    ['everybody', 0o644, ['notify.webhook.secret', 'notify.smtp.password']],
    ['its group', 0o640, []],
    ['its owner', 0o600, []],
  ])('that %s can read', async (_, mode, expected) => {
    await put({ 'hal0.toml': text })
    const file = join(home.etc, 'hal0.toml')
    await chmod(file, mode)
    const { mistakes: wrong, warnings } = await validateHome(home)
    expect([wrong, warnings.map(({ key }) => key)]).toEqual([[], expected])
    for (const { message } of warnings) expect(message).toBe(`others can read it: chmod 600 ${file}`)
    expect(JSON.stringify(warnings)).not.toMatch(/s3cret|p4ssword/)
  })
})

const MODELS = (gguf: string) => `[models.hello]\npath = ${JSON.stringify(gguf)}\n`

/** One broken file each, in a home that is right otherwise: what is reported, in full. */
const BROKEN: readonly (readonly [
  name: string,
  files: Readonly<Record<string, string>>,
  expected: readonly string[],
])[] = [
  ['hal0.toml is no TOML', { 'hal0.toml': '[server' }, ['config.invalid hal0.toml line 1, column 2']],
  ['an unknown section', { 'hal0.toml': '[sever]\n' }, ['config.invalid hal0.toml sever']],
  [
    'two mistakes in one file',
    { 'hal0.toml': '[server]\nport = "x"\n[slots]\narbiter = "no"\n' },
    ['config.invalid hal0.toml server.port', 'config.invalid hal0.toml slots.arbiter'],
  ],
  [
    'a runner nobody knows',
    { 'hal0.toml': '[runners.vlm]\nbinary = "/x"\n' },
    ['config.invalid hal0.toml runners.vlm'],
  ],
  ['a slot that is no TOML', { 'slots/a.toml': 'name = \n' }, ['config.invalid slots/a.toml line 1, column 8']],
  ['a slot without a name', { 'slots/a.toml': 'port = 9000\n' }, ['config.invalid slots/a.toml name']],
  ['a slot of another name', { 'slots/a.toml': 'name = "b"\n' }, ['config.invalid slots/a.toml name']],
  ['a mistyped key', { 'slots/a.toml': 'name = "a"\nprot = 1\n' }, ['config.invalid slots/a.toml prot']],
  ['a port that cannot be', { 'slots/a.toml': 'name = "a"\nport = 70000\n' }, ['config.invalid slots/a.toml port']],
  ['enabled', { 'slots/a.toml': 'name = "a"\nenabled = false\n' }, ['config.invalid slots/a.toml enabled']],
  [
    'tuning keys',
    { 'slots/a.toml': 'name = "a"\nparallel = 2\n[model]\nctx_size = 1\n[server]\nextra_args = ""\n' },
    [
      'slot.unconverted slots/a.toml model.ctx_size',
      'slot.unconverted slots/a.toml parallel',
      'slot.unconverted slots/a.toml server.extra_args',
    ],
  ],
  [
    'a denied variable',
    { 'slots/a.toml': 'name = "a"\n[server.env]\nLLAMA_ARG_PORT = "1"\n' },
    ['slot.llama_env_denied slots/a.toml server.env.LLAMA_ARG_PORT'],
  ],
  [
    '[tune] where it has no effect',
    { 'slots/a.toml': 'name = "a"\ntype = "tts"\n[tune]\nvision = "off"\n' },
    ['slot.config_error slots/a.toml tune'],
  ],
  ['a name that is no slot', { 'slots/Agent2.toml': 'name = "x"\n' }, ['config.invalid slots/Agent2.toml ']],
  [
    'a profile that is missing',
    { 'slots/a.toml': 'name = "a"\nprofile = "chta"\n' },
    ['slot.profile_missing slots/a.toml profile'],
  ],
  [
    'a model that is missing',
    { 'slots/a.toml': 'name = "a"\n[model]\ndefault = "helo"\n' },
    ['model.not_found slots/a.toml model.default'],
  ],
  [
    'a runner of a slot that is missing',
    { 'slots/a.toml': 'name = "a"\nbinary = "cpuu"\n' },
    ['slot.config_error slots/a.toml binary'],
  ],
  [
    'a broken slot and its missing profile',
    { 'slots/a.toml': 'name = "a"\nport = 0\nprofile = "nope"\n' },
    ['config.invalid slots/a.toml port', 'slot.profile_missing slots/a.toml profile'],
  ],
  [
    'two slots with one port',
    { 'slots/a.toml': 'name = "a"\nport = 9000\n', 'slots/b.toml': 'name = "b"\nport = 9000\n' },
    ['slot.port_in_use slots/b.toml port'],
  ],
  [
    'two defaults',
    { 'slots/a.toml': 'name = "a"\ndefault = true\n', 'slots/b.toml': 'name = "b"\ndefault = true\n' },
    ['slot.config_error slots/b.toml default'],
  ],
  [
    'an alias that is a slot',
    { 'slots/a.toml': 'name = "a"\naliases = ["b"]\n', 'slots/b.toml': 'name = "b"\n' },
    ['config.invalid  b'],
  ],
  ['a slot with the name of a model', { 'slots/hello.toml': 'name = "hello"\n' }, ['config.invalid  hello']],
  [
    'an alias in a broken file',
    { 'slots/a.toml': 'name = "a"\naliases = ["b"]\nprot = 1\n', 'slots/b.toml': 'name = "b"\n' },
    ['config.invalid  b', 'config.invalid slots/a.toml prot'],
  ],
  [
    'profiles.toml is no TOML',
    { 'profiles.toml': 'x', 'slots/a.toml': 'name = "a"\nprofile = "mine"\n' },
    ['config.invalid profiles.toml line 1, column 1'],
  ],
  [
    'a profile with an unknown key',
    { 'profiles.toml': '[profiles.p]\nctx = 1\n' },
    ['config.invalid profiles.toml profiles.p.ctx'],
  ],
  [
    'a profile with the name of a seed',
    { 'profiles.toml': '[profiles.chat]\nctx_size = 4096\n' },
    ['config.invalid profiles.toml profiles.chat'],
  ],
  [
    'refused flags',
    { 'profiles.toml': '[profiles.p]\nflags = "--port 1 --temp 0 -ngl 3"\n' },
    ['profile.flag_denied profiles.toml profiles.p.flags', 'profile.flag_denied profiles.toml profiles.p.flags'],
  ],
  [
    'a quote that is not closed',
    { 'profiles.toml': '[profiles.p]\nflags = "--temp \'0"\n' },
    ['config.invalid profiles.toml profiles.p.flags'],
  ],
  [
    'a profile with an unknown runner',
    { 'profiles.toml': '[profiles.p]\nrunner = "cudaa"\n' },
    ['config.invalid profiles.toml profiles.p.runner'],
  ],
  [
    'a broken profile beside a good one',
    {
      'profiles.toml': '[profiles.p]\nctx = 1\n[profiles.q]\nflags = "--host x"\n',
      'slots/a.toml': 'name = "a"\nprofile = "p"\n',
    },
    ['config.invalid profiles.toml profiles.p.ctx', 'profile.flag_denied profiles.toml profiles.q.flags'],
  ],
  ['a model without a path', { 'models.toml': '[models.m]\nquant = "Q4"\n' }, ['config.invalid models.toml models.m']],
  ['a relative path', { 'models.toml': '[models.m]\npath = "m.gguf"\n' }, ['config.invalid models.toml models.m.path']],
  ['a lane of another name', { 'lanes/l.toml': 'name = "k"\n' }, ['config.invalid lanes/l.toml name']],
  ['a lane with a mistyped key', { 'lanes/l.toml': 'gpu = [0]\n' }, ['config.invalid lanes/l.toml gpu']],
  [
    'a lane whose default names no model',
    { 'lanes/l.toml': '[default]\n' },
    ['config.invalid lanes/l.toml default.model'],
  ],
  [
    'a lane that names what there is not',
    {
      'models.toml': MODELS('/m.gguf'),
      'lanes/l.toml': 'runner = "cpuu"\n[default]\nmodel = "helo"\nprofile = "chatt"\n',
    },
    [
      'profile.not_found lanes/l.toml default.profile',
      'model.not_found lanes/l.toml default.model',
      'config.invalid lanes/l.toml runner',
    ],
  ],
  [
    'a lane on GPUs that it does not name',
    { 'lanes/l.toml': 'device = "gpu-cuda"\n' },
    ['config.invalid lanes/l.toml gpus'],
  ],
  [
    'a GPU of two lanes',
    {
      'lanes/k.toml': 'device = "gpu-cuda"\ngpus = [0]\n',
      'lanes/l.toml': 'device = "gpu-cuda"\ngpus = [0, 1]\n',
    },
    ['config.invalid lanes/l.toml gpus'],
  ],
  [
    'a slot on the GPU of a lane',
    { 'lanes/k.toml': 'device = "gpu-cuda"\ngpus = [0]\n', 'slots/a.toml': 'name = "a"\ngpu_index = 0\n' },
    ['config.invalid slots/a.toml gpu_index'],
  ],
  [
    'a lane with GPUs that runs on the CPU',
    { 'lanes/k.toml': 'device = "cpu"\ngpus = [0]\n', 'lanes/l.toml': 'gpus = [1]\n' },
    ['config.invalid lanes/k.toml gpus', 'config.invalid lanes/l.toml gpus'],
  ],
  [
    'a lane whose shortest booking is longer than its longest',
    {
      'lanes/k.toml': '[limits]\nmin_minutes = 61\nmax_hours = 1\n',
      'lanes/l.toml': '[limits]\nmin_minutes = 60\nmax_hours = 1\n',
    },
    ['config.invalid lanes/k.toml limits.min_minutes'],
  ],
  [
    'a lane with the name of a slot',
    { 'lanes/a.toml': 'device = "cpu"\n', 'slots/a.toml': 'name = "a"\n' },
    ['config.invalid  a'],
  ],
  [
    'a stack with a mistyped key',
    { 'stacks.toml': '[stack.s]\nname = "S"\nslot = []\n' },
    ['config.invalid stacks.toml stack.s.slot'],
  ],
  [
    'a stack row without a slot',
    { 'stacks.toml': '[stack.s]\nname = "S"\n[[stack.s.slots]]\nmodel = "m"\n' },
    ['config.invalid stacks.toml stack.s.slots.0.slot'],
  ],
]

describe('validateHome', () => {
  it('finds nothing in an empty home, nor in a right one', async () => {
    expect(await validateHome(home)).toEqual({ home: folder, files: [], mistakes: [], warnings: [] })
    const gguf = join(folder, 'hello.gguf')
    await writeFile(gguf, '')
    await put({
      'hal0.toml': '[runners.mine]\ntemplate = ["/x", "${PORT}"]\n',
      'models.toml': MODELS(gguf),
      'profiles.toml': '[profiles.p]\nflags = "--temp 0"\nrunner = "mine"\n',
      'slots/a.toml': 'name = "a"\nprofile = "p"\nbinary = "mine"\n[model]\ndefault = "hello"\n',
      'slots/b.toml': 'name = "b"\nprofile = "chat"\n',
    })
    const report = await validateHome(home)
    expect([report.mistakes, report.warnings]).toEqual([[], []])
    expect(report.files).toHaveLength(5)
  })

  it.each(BROKEN)('%s', async (_name, files, expected) => {
    await put({ 'models.toml': MODELS('/x/hello.gguf'), ...files })
    expect(await mistakes()).toEqual([...expected].toSorted())
  })

  it('finds all of it in one home, no file hiding the other', async () => {
    await put({
      'hal0.toml': '[server]\nprot = 1\n',
      'models.toml': 'x',
      'profiles.toml': '[profiles.p]\nctx = 1\n',
      'stacks.toml': '[stack.s]\n',
      'slots/a.toml': 'name = \n',
      'slots/b.toml': 'name = "b"\nparallel = 1\nprofile = "q"\n[model]\ndefault = "m"\n',
      'slots/X.toml': '',
      'lanes/l.toml': 'approval = "maybe"\n',
      // What editors and hal0 leave behind is no file of the home.
      'slots/.a.toml.swp': 'x',
      'slots/a.toml~': 'x',
      'slots/a.toml.bak-1': 'x',
    })
    spawnSync('mkfifo', [join(home.etc, 'slots/pipe.toml')])
    await mkdir(join(home.etc, 'slots/folder.toml'))
    expect(await mistakes()).toEqual(
      [
        'config.invalid hal0.toml server.prot',
        'config.invalid lanes/l.toml approval',
        'config.invalid models.toml line 1, column 1',
        'config.invalid profiles.toml profiles.p.ctx',
        'config.invalid slots/X.toml ',
        'config.invalid slots/a.toml line 1, column 8',
        'config.invalid slots/folder.toml ',
        'config.invalid slots/pipe.toml ',
        'config.invalid stacks.toml stack.s.name',
        'slot.profile_missing slots/b.toml profile',
        'slot.unconverted slots/b.toml parallel',
      ].toSorted(),
    )
  })

  it('names the nearest of what is missing, and both owners of a name', async () => {
    await put({
      'models.toml': MODELS('/x/hello.gguf'),
      'slots/a.toml': 'name = "a"\nprofile = "chta"\naliases = ["b"]\n[model]\ndefault = "helo"\n',
      'slots/b.toml': 'name = "b"\n',
    })
    const text = (await validateHome(home)).mistakes.map(({ message }) => message).join('\n')
    expect(text).toContain('did you mean chat?')
    expect(text).toContain('did you mean hello?')
    expect(text).toMatch(/slot "b" \(.*slots\/b\.toml\) and to an alias of slot "a" \(.*slots\/a\.toml\)/)
  })

  it('warns of what is no mistake', async () => {
    await put({
      'models.toml': MODELS('/x/hello.gguf'),
      'profiles.toml': '[profiles.p]\nmtp = true\n',
      'slots/a.toml': 'name = "a"\nlru = true\n',
      'lanes/l.toml': '',
    })
    const report = await validateHome(home)
    expect(report.mistakes).toEqual([])
    expect(report.warnings.map(({ code, key }) => `${code} ${key}`)).toEqual([
      'config.invalid profiles.p.mtp',
      'slot.lru_flag_retired lru',
      'slot.model_missing models.hello.path',
    ])
  })
})
