import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hubSettings } from './hub-settings.ts'
import { storeError } from './store-files.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-hub-'))
  await writeFile(join(folder, 'token'), 'from-file\n')
  await writeFile(join(folder, 'broken'), 'two words\n')
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('hubSettings', () => {
  it.each([
    [{}, 'https://huggingface.co'],
    [{ HF_ENDPOINT: ' https://mirror.example/hf// ' }, 'https://mirror.example/hf'],
    [{ HF_ENDPOINT: '' }, 'https://huggingface.co'],
  ])('%j: endpoint %s', (env, endpoint) => {
    expect(hubSettings(env).endpoint).toBe(endpoint)
  })

  it.each(['mirror.example', 'ftp://x', 'http://', 'file:///x'])('refuses HF_ENDPOINT %s', (endpoint) => {
    expect(() => hubSettings({ HF_ENDPOINT: endpoint })).toThrow(/expected an address/)
  })

  it.each([
    { name: 'HF_TOKEN', env: () => ({ HF_TOKEN: ' t ', HF_HOME: folder }), token: 't' },
    { name: 'the file in HF_HOME', env: () => ({ HF_HOME: folder }), token: 'from-file' },
    { name: 'HF_TOKEN_PATH', env: () => ({ HF_TOKEN_PATH: join(folder, 'token') }), token: 'from-file' },
    { name: 'a file that holds no token', env: () => ({ HF_TOKEN_PATH: join(folder, 'broken') }), token: undefined },
    { name: 'no file', env: () => ({ HF_HOME: join(folder, 'none') }), token: undefined },
  ])('token from $name', async ({ env, token }) => {
    expect(await hubSettings(env()).token()).toBe(token)
  })
})

describe('storeError', () => {
  it.each([
    ['ENOSPC', 'model.insufficient_disk'],
    ['EDQUOT', 'model.insufficient_disk'],
    ['EACCES', 'internal'],
    ['EIO', 'internal'],
  ])('%s → %s, with the path', (errno, code) => {
    const error = storeError('/store/x.part', Object.assign(new Error(`${errno}: no`), { code: errno }))
    expect(error.code).toBe(code)
    expect(error.message).toMatch(/\/store\/x\.part.*no/)
  })
})
