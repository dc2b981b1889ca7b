import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'smol-toml'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { failure } from '../../../test/support/failure.ts'
import { buildGguf } from '../../../test/support/gguf-builder.ts'
import { type Home, homeAt } from '../../files/home.ts'
import { readAllFacts } from '../../models/gguf-facts.ts'
import { createModels } from './model-registry.ts'
import type { Models } from './models.ts'
import { findModelRow, launchModelOf, modelsFilePath, readModelRows } from './models-file.ts'
import { patchFacts } from './rules/model-facts.ts'

const HELLO = fileURLToPath(new URL('../../../models/hello.gguf', import.meta.url))
const NOISE = fileURLToPath(new URL('../../../models/noise.gguf', import.meta.url))

let folder: string
let home: Home
let store: string
let models: Models

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-models-'))
  home = homeAt(folder)
  store = join(home.varLib, 'models')
  await mkdir(join(home.etc, 'slots'), { recursive: true })
  await mkdir(store, { recursive: true })
  models = createModels({ home, storeFolder: () => store, scanFolders: () => [join(folder, 'nowhere')] })
})
afterEach(() => rm(folder, { recursive: true }))

const put = (text: string) => writeFile(modelsFilePath(home), text)
const get = () => readFile(modelsFilePath(home), 'utf8')
const slot = (name: string, text: string) => writeFile(join(home.etc, 'slots', `${name}.toml`), text)

/** A model of its own in `folder`; `split`: this part (from 0) of how many. */
async function model(path: string, split?: [number, number]): Promise<string> {
  const parts = split === undefined ? {} : { 'split.no': split[0], 'split.count': split[1] }
  await mkdir(join(path, '..'), { recursive: true })
  await writeFile(path, buildGguf({ keys: { 'llama.context_length': 4096, ...parts } }))
  return path
}

async function projector(path: string): Promise<string> {
  await writeFile(path, buildGguf({ architecture: 'clip', keys: { 'general.type': 'mmproj' } }))
  return path
}

describe('add', () => {
  it('writes what the file says, under an id made of its name', async () => {
    const row = await models.add({ path: HELLO, tags: ['tiny'] })
    expect(row).toMatchObject({
      id: 'hello',
      path: HELLO,
      files: [HELLO],
      quant: 'Q8_0',
      architecture: 'llama',
      native_ctx: 2048,
      tags: ['tiny'],
      mtp: null,
      missing: [],
      problem: null,
      bound_by: [],
    })
    const { size_bytes: sizeBytes, ...facts } = await findModelRow(home, 'hello')
    expect(facts).toEqual({
      path: HELLO,
      quant: 'Q8_0',
      architecture: 'llama',
      native_ctx: 2048,
      license: 'mit',
      tags: ['tiny'],
    })
    expect(sizeBytes).toBe((await readFile(HELLO)).length)
  })

  it('lets what is said win over the header', async () => {
    expect(await models.add({ id: 'a', path: HELLO, native_ctx: 1024 })).toMatchObject({ native_ctx: 1024 })
  })

  it('takes a split model by any part, and names a part that is missing', async () => {
    const part = (nth: number) => join(folder, 'split', `big-0000${nth}-of-00003.gguf`)
    for (const nth of [3, 1, 2]) await model(part(nth), [nth - 1, 3])
    const row = await models.add({ path: part(2) })
    expect(row).toMatchObject({ id: 'big', path: part(1), files: [part(1), part(2), part(3)], problem: null })
    await rm(part(2))
    const error = await failure(models.add({ id: 'again', path: part(1) }))
    expect([error.code, error.message]).toEqual(['validation.invalid', expect.stringContaining(part(2))])
    expect(await models.show('big')).toMatchObject({ missing: [part(2)] })
    const launch = await failure(findModelRow(home, 'big').then((facts) => launchModelOf('big', facts)))
    expect([launch.code, launch.message]).toEqual(['slot.model_missing', expect.stringContaining(part(2))])
  })

  it('refuses a projector as a model, a model as a projector, and files that are not there', async () => {
    const mmproj = await projector(join(folder, 'mmproj-x.gguf'))
    expect((await failure(models.add({ path: mmproj }))).message).toContain('projector')
    expect((await failure(models.add({ path: HELLO, mmproj: NOISE }))).message).toContain('is a model')
    expect((await failure(models.add({ path: HELLO, drafter: mmproj }))).message).toContain('expected a model')
    expect((await failure(models.add({ path: join(folder, 'no.gguf') }))).code).toBe('slot.model_missing')
    expect((await failure(models.add({ path: HELLO, chat_template: '/nowhere.jinja' }))).code).toBe(
      'validation.invalid',
    )
    expect((await failure(models.add({ path: HELLO, preferred_profile: 'agnet' }))).message).toContain('agnet')
    expect((await failure(models.add({ id: 'x' }))).message).toContain('path')
    expect((await readModelRows(home)).size).toBe(0)
  })

  it('speaks of a new model where the name is taken, not of a row that is not there', async () => {
    await slot('big', 'name = "big"\n')
    const { message } = await failure(models.add({ id: 'big', path: HELLO }))
    expect(message).toMatch(/^the name "big" belongs to slot "big" \(.*big\.toml\) already: .* the new model "big"$/)
  })

  it('speaks of the path that was typed when nothing is there, also when it is only to be looked at', async () => {
    const path = join(folder, 'typo.gguf')
    for (const error of [await failure(models.add({ path })), await failure(models.inspect(path))]) {
      expect([error.code, error.message]).toEqual(['slot.model_missing', `there is no file ${path}`])
      expect(error.details).toMatchObject({ remedy: expect.stringMatching(/^Check the path/) })
    }
  })

  it('keeps what is there: an id twice, a file twice', async () => {
    await models.add({ id: 'a', path: HELLO })
    expect((await failure(models.add({ id: 'a', path: NOISE }))).code).toBe('model.exists')
    expect((await failure(models.add({ path: HELLO }))).message).toContain('"a"')
    expect(await models.add({ id: 'b', path: HELLO })).toMatchObject({ id: 'b' })
  })

  it.each([
    ['a slot', 'mine', 'slot "mine"'],
    ['an alias', 'other', 'alias of slot "mine"'],
    ['a seed slot', 'agent', 'seed slot "agent"'],
    ['a lane', 'gpu0', 'lane "gpu0"'],
  ])('refuses the name of %s, naming both owners', async (_name, id, owner) => {
    await slot('mine', 'name = "mine"\naliases = ["other"]\n')
    await mkdir(join(home.etc, 'lanes'))
    await writeFile(join(home.etc, 'lanes', 'gpu0.toml'), '')
    const error = await failure(models.add({ id, path: HELLO }))
    expect([error.code, error.message]).toEqual(['validation.invalid', expect.stringContaining(owner)])
    expect(error.message).toContain(`model "${id}"`)
  })

  it('keeps every one of many at once, and every comment', async () => {
    await put('# mine\n[models.old] # o\npath = "/old.gguf" # p\n')
    const ids = Array.from({ length: 10 }, (_, nth) => `m${nth}`)
    await Promise.all(ids.map((id) => models.add({ id, path: HELLO })))
    const text = await get()
    expect(Object.keys(parse(text)['models'] ?? {}).toSorted()).toEqual([...ids, 'old'].toSorted())
    expect(text.startsWith('# mine\n[models.old] # o\npath = "/old.gguf" # p\n\n[models.')).toBe(true)
  })
})

describe('update and remove', () => {
  const TEXT = `# mine
[models.a] # a
path = "${HELLO}" # here
tags = [
  "x", # why
]

# about b
[models."org/b.q8"]
path = "${NOISE}"
`

  it('change only what they are told to', async () => {
    await put(TEXT)
    expect(await models.update('org/b.q8', { jinja: false, native_ctx: 64 })).toMatchObject({
      jinja: false,
      native_ctx: 64,
    })
    await models.update('org/b.q8', { jinja: null, native_ctx: null })
    expect(await get()).toBe(TEXT)
    await models.remove('org/b.q8', { deleteFiles: false })
    expect(await get()).toBe(TEXT.split('\n# about b')[0])
    expect((await failure(models.update('b', { jinja: true }))).code).toBe('model.not_found')
  })

  it('follow another file', async () => {
    await models.add({ id: 'a', path: HELLO, quant: 'mine', tags: ['t'] })
    expect(await models.update('a', { path: NOISE })).toMatchObject({ path: NOISE, tags: ['t'] })
    expect((await findModelRow(home, 'a')).quant).not.toBe('mine')
    expect((await failure(models.update('a', { path: null }))).code).toBe('validation.invalid')
  })

  it('never write over a file with mistakes', async () => {
    await put('[models.a]\npth = "/x"\n')
    expect((await failure(models.add({ path: HELLO }))).code).toBe('config.invalid')
    expect((await failure(models.remove('a', { deleteFiles: true }))).code).toBe('config.invalid')
    expect(await get()).toBe('[models.a]\npth = "/x"\n')
  })

  it('do not take a model from under a slot or another model', async () => {
    await put(`[models.a]\npath = "${HELLO}"\n[models.b]\npath = "${NOISE}"\ndrafter = "${HELLO}"\n`)
    await slot('s', 'name = "s"\nprot = 1\n[model]\ndefault = "a"\n')
    const error = await failure(models.remove('a', { deleteFiles: false }))
    expect([error.code, error.message]).toEqual(['model.in_use', expect.stringContaining('slot s, model b')])
    expect(error.details?.['remedy']).toBe(
      'Bind another model first: `hal0 slot edit s --model ID`. Change the rows of b first: `hal0 config edit models`.',
    )
    expect(await models.show('a')).toMatchObject({ bound_by: ['s'] })
  })

  it.each([
    ['a good file', '[default]\nmodel = "a"\n'],
    ['a file with a mistake', 'devise = "cpu"\n[default]\nmodel = "a"\n'],
    ['a file that is no TOML', 'default = { model = "a" }\ngpus = \n'],
  ])('do not take the default from under a lane with %s', async (_, text) => {
    await put(`[models.a]\npath = "${HELLO}"\n`)
    await mkdir(join(home.etc, 'lanes'), { recursive: true })
    await writeFile(join(home.etc, 'lanes/gpu0.toml'), text)
    const error = await failure(models.remove('a', { deleteFiles: false }))
    expect([error.code, error.message]).toEqual(['model.in_use', expect.stringContaining('lane gpu0 (as its default)')])
    expect(error.details).toMatchObject({
      lanes: ['gpu0'],
      remedy: 'Give another default first: `hal0 lane edit gpu0 --model ID`.',
    })
  })
})

describe('deleting files', () => {
  it('deletes what lies in the store and no other row needs', async () => {
    const main = await model(join(store, 'org', 'a.gguf'))
    const mmproj = await projector(join(store, 'org', 'mmproj.gguf'))
    const outside = await model(join(folder, 'out.gguf'))
    await symlink(outside, join(store, 'linked.gguf'))
    await put(
      `[models.a]\npath = "${main}"\nmmproj = "${mmproj}"\n[models.b]\npath = "${outside}"\nmmproj = "${mmproj}"\n[models.c]\npath = "${join(store, 'linked.gguf')}"\n`,
    )
    const removed = await models.remove('a', { deleteFiles: true })
    expect(removed).toMatchObject({ id: 'a', deleted_files: [main] })
    expect(removed.freed_bytes).toBeGreaterThan(0)
    expect((await models.remove('c', { deleteFiles: true })).deleted_files).toEqual([])
    expect((await models.remove('b', { deleteFiles: true })).deleted_files).toEqual([mmproj])
    // The folder that this left empty is gone; what lies outside, and links to it, are not ours.
    expect(await readdir(store)).toEqual(['linked.gguf'])
    expect((await readFile(outside)).length).toBeGreaterThan(0)
  })

  it('is not fooled by a folder whose name begins like the store', async () => {
    const near = await model(join(`${store}-old`, 'a.gguf'))
    await put(`[models.a]\npath = "${store}/../models-old/a.gguf"\n`)
    expect((await models.remove('a', { deleteFiles: true })).deleted_files).toEqual([])
    expect((await readFile(near)).length).toBeGreaterThan(0)
  })
})

describe('a launch', () => {
  it('takes the row before the header', async () => {
    expect(await launchModelOf('a', { path: HELLO, native_ctx: 99, tags: ['mtp'] })).toEqual({
      id: 'a',
      path: HELLO,
      architecture: 'llama',
      nativeCtxTokens: 99,
      chatTemplate: null,
      mmproj: null,
      drafter: null,
      mtp: null,
      tags: ['mtp'],
      jinja: null,
      pooling: null,
    })
  })

  // CASES 30: a projector vanished after it was registered.
  it('names every file that vanished, and works again when they return', async () => {
    const mmproj = await projector(join(folder, 'mmproj-hello.gguf'))
    const row = await models.add({ id: 'a', path: HELLO, mmproj }).then(() => findModelRow(home, 'a'))
    await rename(mmproj, `${mmproj}.away`)
    const error = await failure(launchModelOf('a', row))
    expect([error.code, error.message]).toEqual(['slot.model_missing', expect.stringContaining(mmproj)])
    expect(await models.show('a')).toMatchObject({ missing: [mmproj], problem: null })
    await rename(`${mmproj}.away`, mmproj)
    expect(await launchModelOf('a', row)).toMatchObject({ mmproj })
  })

  it('takes a folder for engines that load one', async () => {
    await mkdir(join(folder, 'hf'))
    await writeFile(join(folder, 'hf', 'config.json'), '{}')
    await models.add({ id: 'v', path: join(folder, 'hf') })
    expect(await models.show('v')).toMatchObject({ problem: null, missing: [] })
    expect(await launchModelOf('v', { path: join(folder, 'hf') })).toMatchObject({ nativeCtxTokens: null })
  })
})

describe('list, scan, inspect', () => {
  it('tells a file that is gone, damaged or no model in its row', async () => {
    const bad = join(folder, 'bad.gguf')
    await writeFile(bad, 'GGUF, but no more')
    const mmproj = await projector(join(folder, 'mmproj-x.gguf'))
    await put(`[models.z]\npath = "/gone.gguf"\n[models.a]\npath = "${bad}"\n[models.m]\npath = "${mmproj}"\n`)
    const rows = await models.list()
    expect(rows.map(({ id, missing, problem }) => [id, missing, problem])).toEqual([
      ['a', [], expect.stringContaining('damaged GGUF header')],
      ['m', [], expect.stringContaining('projector')],
      ['z', ['/gone.gguf'], expect.stringContaining('there is no file /gone.gguf')],
    ])
  })

  it('lists 500 models, and does not read their headers again', async () => {
    const paths = Array.from({ length: 500 }, (_, nth) => join(folder, `m${nth}.gguf`))
    for (const path of paths) await symlink(HELLO, path)
    await put(paths.map((path, nth) => `[models.m${nth}]\npath = "${path}"\n`).join(''))
    const rows = await models.list()
    expect(rows).toHaveLength(500)
    expect(rows.every(({ native_ctx }) => native_ctx === 2048)).toBe(true)
    for (const path of paths) expect((await readAllFacts(path)).reads).toBe(0)
    expect(await models.list()).toEqual(rows)
  })

  it('finds what is new, registers it on request, and tells what it cannot', async () => {
    await model(join(store, 'new.gguf'))
    await model(join(store, 'half-00001-of-00002.gguf'), [0, 2])
    await put(`[models.h]\npath = "${HELLO}"\n`)
    const looked = await models.scan({})
    expect(looked.found.map(({ suggested_id, registered_as }) => [suggested_id, registered_as])).toEqual([
      ['half', null],
      ['new', null],
    ])
    expect(looked.skipped).toContainEqual({
      path: join(folder, 'nowhere'),
      reason: expect.stringContaining('no folder'),
    })
    expect([...(await readModelRows(home)).keys()]).toEqual(['h'])
    const done = await models.scan({ folder: store, register: true })
    expect(done.registered).toEqual(['new'])
    expect(done.skipped).toContainEqual({
      path: join(store, 'half-00001-of-00002.gguf'),
      reason: expect.stringContaining('half-00002-of-00002.gguf'),
    })
    expect(done.found.find(({ path }) => path.endsWith('new.gguf'))?.registered_as).toBe('new')
    expect((await models.scan({ folder: store, register: true })).registered).toEqual([])
    // The same file by another name is not another model.
    await mkdir(join(folder, 'links'))
    await symlink(join(store, 'new.gguf'), join(folder, 'links', 'other.gguf'))
    expect((await models.scan({ folder: join(folder, 'links'), register: true })).registered).toEqual([])
    expect((await failure(models.scan({ folder: join(folder, 'no') }))).code).toBe('validation.invalid')
  })

  it('inspects a file with the id it has or could have', async () => {
    expect(await models.inspect(HELLO)).toMatchObject({ suggested_id: 'hello', registered_as: null })
    await models.add({ id: 'x', path: HELLO })
    expect(await models.inspect(HELLO)).toMatchObject({ registered_as: 'x' })
  })
})

describe('patchFacts', () => {
  it('deletes with null, keeps what is absent', () => {
    expect(patchFacts({ path: '/a', jinja: true, tags: ['t'] }, { jinja: null, quant: 'Q4_0' }, undefined)).toEqual({
      path: '/a',
      tags: ['t'],
      quant: 'Q4_0',
    })
  })
})
