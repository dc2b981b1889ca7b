import { writeFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Home, homeAt } from '../../files/home.ts'
import { modelsFilePath, readModelRows } from '../models/models-file.ts'
import { profilesFilePath, readProfiles } from '../profiles/profiles-file.ts'
import { migrateSlots } from './migrate-slots.ts'
import { readSlotFile, slotFilePath } from './slot-file.ts'

let folder: string
let home: Home

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-migrate-'))
  home = homeAt(folder)
  await mkdir(join(home.etc, 'slots'), { recursive: true })
  await writeFile(modelsFilePath(home), '# models\n[models.hello]\npath = "/x/hello.gguf"\n')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const OLD = `# my slot
name = "mine"
enabled = true
parallel = 4 # people
priority = 7 # keep
enable_thinking = false

[model]
default = "hello" # bundled
ctx_size = 8192
chat_template = "/x/t.jinja"
mtp = true

[server]
extra_args = "--temp 0.2 --grammar 'a b'"
`

describe('migrateSlots', () => {
  /** `inBetween` happens between the plan and the write, each time. */
  const meanwhile = (inBetween: () => void) => Object.assign(['cpu'], { includes: () => (inBetween(), true) })
  const RUN = '[profiles.mine-base]\nrunner = "cpu"\n'

  it('does not write over a profile that somebody made under its name meanwhile', async () => {
    const others = `${RUN}\n[profiles.mine-migrated]\nintent = "of somebody else"\n`
    await writeFile(slotFilePath(home, 'mine'), 'name = "mine"\nprofile = "mine-base"\nparallel = 4\n')
    await writeFile(profilesFilePath(home), RUN)
    const runnerKeys = meanwhile(() => writeFileSync(profilesFilePath(home), others))
    const { migrated, failed } = await migrateSlots(home, { runnerKeys })
    expect([migrated.map(({ profile }) => profile), failed]).toEqual([['mine-migrated-2'], []])
    expect(await readFile(profilesFilePath(home), 'utf8')).toContain(others)
    expect(await readSlotFile(home, 'mine')).toMatchObject({ profile: 'mine-migrated-2' })
  })

  it('two at once end as one does, and neither fails', async () => {
    for (let n = 1; n <= 8; n++) {
      await writeFile(slotFilePath(home, `s${n}`), `# ${n}\nname = "s${n}"\nparallel = ${n} # people\n`)
    }
    const both = await Promise.all([migrateSlots(home), migrateSlots(home)])
    expect(both.flatMap(({ failed }) => failed)).toEqual([])
    expect(both.flatMap(({ migrated }) => migrated)).toHaveLength(8)
    expect([...(await readProfiles(home)).keys()].filter((name) => name.includes('migrated'))).toHaveLength(8)
    for (let n = 1; n <= 8; n++) {
      expect(await readFile(slotFilePath(home, `s${n}`), 'utf8')).toBe(
        `# ${n}\nname = "s${n}"\nprofile = "s${n}-migrated"\n`,
      )
    }
  })

  it('gives up on a file that is changed again and again, and says so', async () => {
    await writeFile(slotFilePath(home, 'mine'), 'name = "mine"\nprofile = "mine-base"\nparallel = 4\n')
    await writeFile(profilesFilePath(home), RUN)
    let n = 0
    const runnerKeys = meanwhile(() =>
      writeFileSync(slotFilePath(home, 'mine'), `name = "mine"\nprofile = "mine-base"\nparallel = ${n++}\n`),
    )
    expect(await migrateSlots(home, { runnerKeys })).toMatchObject({
      migrated: [],
      failed: [{ message: expect.stringContaining('changed by someone else meanwhile; run `hal0 config migrate`') }],
    })
    expect(await readFile(slotFilePath(home, 'mine'), 'utf8')).toContain(`parallel = ${n - 1}`)
  })

  it('moves each key to its owner, keeps comments and a copy', async () => {
    const file = slotFilePath(home, 'mine')
    await writeFile(file, OLD)
    const { migrated, failed } = await migrateSlots(home)
    expect(failed).toEqual([])
    expect(migrated).toEqual([
      {
        file,
        backup: `${file}.bak-1`,
        profile: 'mine-migrated',
        moved: [
          'parallel',
          'enable_thinking',
          'model.ctx_size',
          'model.chat_template',
          'model.mtp',
          'server.extra_args',
          'enabled',
        ],
      },
    ])
    expect(await readFile(`${file}.bak-1`, 'utf8')).toBe(OLD)
    const text = await readFile(file, 'utf8')
    for (const kept of ['# my slot\n', 'priority = 7 # keep', 'default = "hello" # bundled'])
      expect(text).toContain(kept)
    expect(text).not.toMatch(/parallel|ctx_size|enabled|extra_args|\[server\]/)
    expect(await readSlotFile(home, 'mine')).toMatchObject({ profile: 'mine-migrated', priority: 7 })
    const profile = (await readProfiles(home)).get('mine-migrated')
    const base = (await readProfiles(home)).get('chat')
    expect(profile?.body).toMatchObject({ ctx_size: 8192, enable_thinking: false, cloned_from: 'chat' })
    expect(profile?.flags).toEqual([...(base?.flags ?? []), '--parallel', '4', '--temp', '0.2', '--grammar', 'a b'])
    expect((await readModelRows(home)).get('hello')).toEqual({
      path: '/x/hello.gguf',
      chat_template: '/x/t.jinja',
      mtp: true,
    })
    expect(await readFile(modelsFilePath(home), 'utf8')).toContain('# models')
  })

  it('finds nothing to do the second time', async () => {
    await writeFile(slotFilePath(home, 'mine'), OLD)
    await migrateSlots(home)
    const before = await everything()
    expect(await migrateSlots(home)).toEqual({ migrated: [], failed: [] })
    expect(await everything()).toEqual(before)
  })

  it('takes up a run that was cut off between profile and slot', async () => {
    await writeFile(slotFilePath(home, 'mine'), OLD)
    await migrateSlots(home)
    await writeFile(slotFilePath(home, 'mine'), OLD)
    const { migrated } = await migrateSlots(home)
    expect(migrated).toMatchObject([{ profile: 'mine-migrated', backup: expect.stringMatching(/\.bak-2$/) }])
  })

  it('starts from the profile that the slot would have run, and takes another name where one is taken', async () => {
    await writeFile(profilesFilePath(home), '[profiles.e-migrated]\nctx_size = 512\n')
    await writeFile(slotFilePath(home, 'e'), 'name = "e"\ntype = "embedding"\nctx_size = 2048\n')
    expect((await migrateSlots(home)).migrated).toMatchObject([{ profile: 'e-migrated-2' }])
    const profiles = await readProfiles(home)
    expect(profiles.get('e-migrated-2')?.body).toMatchObject({ ctx_size: 2048, cloned_from: 'embedding' })
    expect(profiles.get('e-migrated-2')?.flags).toEqual(profiles.get('embedding')?.flags)
    expect(profiles.get('e-migrated')?.body).toEqual({ ctx_size: 512 })
  })

  it('makes no profile where nothing goes to one', async () => {
    await writeFile(slotFilePath(home, 'a'), 'name = "a"\nmtp = true\n[model]\ndefault = "hello"\nctx_size = 0\n')
    await writeFile(slotFilePath(home, 'b'), 'name = "b"\nmtp = false\n[model]\ndefault = "hello"\n')
    const { migrated } = await migrateSlots(home)
    expect(migrated.map(({ profile }) => profile)).toEqual([null, 'b-migrated'])
    expect((await readProfiles(home)).get('b-migrated')?.body.speculation).toBe('off')
    expect((await readModelRows(home)).get('hello')).toEqual({ path: '/x/hello.gguf', mtp: true })
  })

  it.each([
    ['refused flags', 'name = "a"\n[server]\nextra_args = "--port 1 --temp 0"\n', '--port'],
    ['a quote that is not closed', 'name = "a"\n[server]\nextra_args = "--temp \'0"\n', 'quote'],
    ['a fact without a model', 'name = "a"\nmmproj = "/x/p.gguf"\n', 'binds none'],
    ['a fact that the row contradicts', 'name = "a"\n[model]\ndefault = "hello"\npath = "/y.gguf"\n', 'another path'],
    ['a model that is not registered', 'name = "a"\njinja = false\n[model]\ndefault = "none"\n', 'no model "none"'],
    [
      'a template that is no file',
      'name = "a"\nchat_template = "chatml"\n[model]\ndefault = "hello"\n',
      'absolute path',
    ],
    ['two windows', 'name = "a"\nctx_size = 512\n[model]\nctx_size = 1024\n', 'ctx_size'],
    ['another mistake', 'name = "a"\nparallel = 2\nprot = 1\n', 'did you mean port?'],
    ['enabled = false', 'name = "a"\nparallel = 2\nenabled = false\n', 'enabled is gone'],
    ['a profile that is missing', 'name = "a"\nparallel = 2\nprofile = "none"\n', 'no profile "none"'],
    ['no TOML', 'name = \n', 'not valid TOML'],
    ['a value that means nothing', 'name = "a"\nparallel = [1]\n', 'by hand'],
  ])('reports %s and leaves every file as it is', async (_name, text, part) => {
    await writeFile(slotFilePath(home, 'a'), text)
    const before = await everything()
    const { migrated, failed } = await migrateSlots(home)
    expect(migrated).toEqual([])
    expect(failed.map(({ file }) => file)).toEqual([slotFilePath(home, 'a')])
    expect(failed[0]?.message).toContain(part)
    expect(await everything()).toEqual(before)
  })

  it('two at once move a file once', async () => {
    await writeFile(slotFilePath(home, 'mine'), OLD)
    const both = await Promise.all([migrateSlots(home), migrateSlots(home)])
    expect(both.flatMap(({ migrated }) => migrated)).toHaveLength(1)
    expect(await readdir(join(home.etc, 'slots'))).toEqual(['mine.toml', 'mine.toml.bak-1'])
  })

  it('one file that fails does not keep the others', async () => {
    await writeFile(slotFilePath(home, 'a'), 'name = \n')
    await writeFile(slotFilePath(home, 'b'), 'name = "b"\nparallel = 2\n')
    const { migrated, failed } = await migrateSlots(home)
    expect([migrated.length, failed.length]).toEqual([1, 1])
  })

  it('rewrites mtp of profiles', async () => {
    await writeFile(profilesFilePath(home), '[profiles.p]\nmtp = false # no\n')
    await migrateSlots(home)
    expect((await readProfiles(home)).get('p')?.body).toEqual({ speculation: 'off' })
    expect(await readFile(profilesFilePath(home), 'utf8')).not.toContain('mtp')
  })
})

/** Every file below etc with its text. */
async function everything(): Promise<Record<string, string>> {
  const names = await readdir(home.etc, { recursive: true, withFileTypes: true })
  const files = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return Object.fromEntries(await Promise.all(files.map(async (file) => [file, await readFile(file, 'utf8')])))
}
