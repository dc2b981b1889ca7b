import { execFile } from 'node:child_process'
import { linkSync } from 'node:fs'
import { copyFile, link, mkdir, mkdtemp, realpath, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type GgufOptions, writeGguf } from '../../test/support/gguf-builder.ts'
import { scanFolder } from './scan.ts'

const HELLO = fileURLToPath(new URL('../../models/hello.gguf', import.meta.url))

let root = ''
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'hal0-scan-')))
})
afterEach(() => rm(root, { recursive: true, force: true }))

const at = (...path: string[]) => join(root, ...path)
async function put(path: string, options: GgufOptions = {}, sizeBytes = 0): Promise<void> {
  await mkdir(dirname(at(path)), { recursive: true })
  await writeGguf(at(path), options, sizeBytes)
}
/** Paths below the folder, so that a table can name them. */
async function scan(options = {}) {
  const result = await scanFolder(root, options)
  return {
    ...result,
    names: result.found.map((model) => relative(root, model.path)),
    reasons: Object.fromEntries(result.skipped.map(({ path, reason }) => [relative(root, path), reason])),
  }
}
const split = (index: number, count: number): GgufOptions => ({
  keys: { 'split.no': { type: 'uint16', value: index }, 'split.count': { type: 'uint16', value: count } },
})

describe('scanFolder', () => {
  it('finds models in all folders, by their endings in any case, and nothing else', async () => {
    await put('b/deep/er/two.GGUF')
    await put('one.gguf')
    await writeFile(at('readme.md'), 'x')
    await writeFile(at('b/text.gguf'), 'no model')
    const { names, reasons, filesSeen } = await scan()
    expect(names).toEqual(['one.gguf', 'b/deep/er/two.GGUF'])
    expect(reasons).toEqual({ 'b/text.gguf': expect.stringContaining('is not a GGUF file') })
    expect(filesSeen).toBe(3)
  })

  // CASES 29.
  it('finds a split model with its projector, and names the missing part of another', async () => {
    for (const nth of [3, 0, 2, 1]) await put(`s/big-0000${nth + 1}-of-00004.gguf`, split(nth, 4), 10_000 + nth)
    await put('s/mmproj-F16.gguf', { architecture: 'clip' })
    for (const nth of [0, 2]) await put(`t/big-0000${nth + 1}-of-00003.gguf`, split(nth, 3))
    const { found, skipped } = await scan()
    expect(found).toMatchObject([
      {
        path: at('s/big-00001-of-00004.gguf'),
        files: [1, 2, 3, 4].map((nth) => at(`s/big-0000${nth}-of-00004.gguf`)),
        missing: [],
        size_bytes: 40_006,
        mmproj: at('s/mmproj-F16.gguf'),
        facts: { architecture: 'llama', split: { part: 1, parts: 4 } },
      },
      { path: at('t/big-00001-of-00003.gguf'), missing: [at('t/big-00002-of-00003.gguf')], mmproj: null },
    ])
    expect(skipped).toEqual([])
  })

  it('says why files are passed over', async () => {
    await put('lora.gguf', { keys: { 'general.type': 'adapter' } })
    await put('imatrix.gguf', { architecture: null, keys: { 'general.type': 'imatrix' } })
    await put('vocab.gguf', { tensors: [], keys: { 'tokenizer.ggml.tokens': ['a'] } })
    await put('mmproj-lost.gguf', { architecture: 'clip' })
    await put('.hidden.gguf')
    await put('.hidden/model.gguf')
    await put('half.gguf.part')
    await put('half.gguf.incomplete')
    await put('half.gguf.tmp')
    await writeFile(at('other.tmp'), 'x')
    await copyFile(HELLO, at('cut.gguf'))
    await truncate(at('cut.gguf'), 100_000)
    await symlink(at('gone'), at('dangling.gguf'))
    await promisify(execFile)('mkfifo', [at('pipe.gguf')])
    await symlink('/dev/null', at('device.gguf'))
    const { names, reasons } = await scan()
    expect(names).toEqual([])
    expect(reasons).toEqual({
      'lora.gguf': expect.stringContaining('an adapter'),
      'imatrix.gguf': expect.stringContaining('an importance matrix'),
      'vocab.gguf': expect.stringContaining('a vocabulary'),
      'mmproj-lost.gguf': expect.stringContaining('a projector'),
      '.hidden.gguf': 'a hidden file',
      'half.gguf.part': 'a download that is not complete',
      'half.gguf.incomplete': 'a download that is not complete',
      'half.gguf.tmp': 'a download that is not complete',
      'cut.gguf': expect.stringContaining('the file is cut short'),
      'dangling.gguf': 'a link to nothing',
      'pipe.gguf': 'not a regular file',
      'device.gguf': 'not a regular file',
    })
  })

  it('ends where links go round, and tells a model that has several names once, by its own', async () => {
    await put('real/model.gguf')
    await symlink(root, at('real/up'))
    await symlink(at('real'), at('again'))
    await symlink(at('real/model.gguf'), at('a-link.gguf'))
    const { names, reasons } = await scan()
    expect(names).toEqual(['real/model.gguf'])
    expect(reasons).toEqual({ 'a-link.gguf': expect.stringContaining('the same file as') })
  })

  it('finds what a hub client keeps: the link names the file, revisions share it', async () => {
    const hub = '.cache/huggingface/hub/models--org--name'
    await put(`${hub}/blobs/aaaa`, split(0, 2))
    await put(`${hub}/blobs/bbbb`, split(1, 2))
    await put(`${hub}/blobs/cccc.incomplete`)
    for (const revision of ['r1', 'r2']) {
      await mkdir(at(hub, 'snapshots', revision), { recursive: true })
      await symlink('../../blobs/aaaa', at(hub, 'snapshots', revision, 'm-00001-of-00002.gguf'))
      await symlink('../../blobs/bbbb', at(hub, 'snapshots', revision, 'm-00002-of-00002.gguf'))
    }
    const { names, reasons, found } = await scan()
    expect(names).toEqual([`${hub}/snapshots/r1/m-00001-of-00002.gguf`])
    expect(found[0]?.missing).toEqual([])
    expect(reasons).toEqual({
      [`${hub}/blobs/cccc.incomplete`]: 'a download that is not complete',
      [`${hub}/snapshots/r2/m-00001-of-00002.gguf`]: expect.stringContaining('the same file as'),
    })
  })

  it('goes eight folders deep', async () => {
    await put('1/2/3/4/5/6/7/8/at.gguf')
    await put('1/2/3/4/5/6/7/8/9/below.gguf')
    const { names, reasons } = await scan()
    expect(names).toEqual(['1/2/3/4/5/6/7/8/at.gguf'])
    expect(reasons).toEqual({ '1/2/3/4/5/6/7/8/9': expect.stringContaining('more than 8 folders') })
  })

  it('looks at so many entries, and tells nothing of a folder it could not read to its end', async () => {
    await put('a.gguf')
    for (const name of ['x', 'y', 'z']) await put(`sub/${name}.gguf`)
    expect(await scan({ maxEntries: 5 })).toMatchObject({ names: ['a.gguf', 'sub/x.gguf', 'sub/y.gguf', 'sub/z.gguf'] })
    expect(await scan({ maxEntries: 4 })).toMatchObject({
      names: ['a.gguf'],
      reasons: { sub: expect.stringContaining('more than 4 entries') },
    })
  })

  it('finds the one model among 20,000 other files in a flat folder', async () => {
    const names = Array.from({ length: 20_000 }, (_, nth) => at(`page-${nth}.txt`))
    await writeFile(at('page'), '')
    for (const name of names) linkSync(at('page'), name)
    await put('one.gguf')
    expect(await scan()).toMatchObject({ names: ['one.gguf'], skipped: [] })
  })

  it('looks at so many GGUF files, and counts no others', async () => {
    await put('a.gguf')
    for (const name of ['x', 'y', 'z']) {
      await put(`sub/${name}.gguf`)
      await writeFile(at(`sub/${name}.txt`), 'x')
    }
    expect(await scan({ maxFiles: 4 })).toMatchObject({ names: ['a.gguf', 'sub/x.gguf', 'sub/y.gguf', 'sub/z.gguf'] })
    expect(await scan({ maxFiles: 3 })).toMatchObject({
      names: ['a.gguf'],
      reasons: { sub: expect.stringContaining('more than 3 GGUF files') },
    })
  })

  it.each(['absent', 'file'])('refuses a root that is no folder: %s', async (name) => {
    await writeFile(at('file'), 'x')
    await expect(scanFolder(at(name))).rejects.toMatchObject({ code: 'validation.invalid', param: 'folder' })
  })

  it('stops when it is told to', async () => {
    await put('a.gguf')
    await expect(scanFolder(root, { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough')
  })

  // CASES 33.
  it('200 files with 150,000 tokens each: bounded reads, and the event loop turns', async () => {
    const tokens = Array.from({ length: 150_000 }, (_, nth) => `token-${nth}`)
    await put('model-0.gguf', { keys: { 'llama.context_length': 8_192, 'tokenizer.ggml.tokens': tokens } }, 2 ** 30)
    const { sizeBytes: headBytes } = await writeGguf(at('head'), { keys: { 'tokenizer.ggml.tokens': tokens } })
    for (let nth = 1; nth < 200; nth++) await link(at('model-0.gguf'), at(`model-${nth}.gguf`))
    let turns = 0
    let counting = true
    const turn = () => {
      turns++
      if (counting) setImmediate(turn)
    }
    turn()
    const result = await scanFolder(root)
    counting = false
    const readsPerFile = Math.ceil(headBytes / (256 * 1024)) + 1
    expect(result.found).toHaveLength(200)
    expect(result.found[199]?.facts).toMatchObject({ native_ctx: 8_192, kv: { vocabulary: 150_000 } })
    expect(result.mostReads).toBeLessThanOrEqual(readsPerFile)
    expect(result.reads).toBeLessThanOrEqual(200 * readsPerFile)
    expect(result.readBytes).toBeLessThanOrEqual(200 * (headBytes + 256 * 1024))
    // Four reads may end in one turn.
    expect(turns).toBeGreaterThan(result.reads / 8)
  }, 60_000)
})
