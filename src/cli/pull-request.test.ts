import { describe, expect, it } from 'vitest'
import { UsageError } from './cli-error.ts'
import { pullWishOf } from './pull-request.ts'

describe('pullWishOf', () => {
  it.each([
    ['org/Name-GGUF:Q8_0', undefined, {}, 'name-q8_0', { repo: 'org/Name-GGUF', quant: 'Q8_0' }],
    ['org/name', undefined, {}, 'name', { repo: 'org/name' }],
    ['org/name', undefined, { id: 'a/b', revision: 'main' }, 'a/b', { repo: 'org/name', revision: 'main' }],
    ['org/n', 'sub/m-Q4-00001-of-00003.gguf', {}, 'm-q4', { repo: 'org/n', file: 'sub/m-Q4-00001-of-00003.gguf' }],
    ['mine', undefined, {}, 'mine', {}],
    [undefined, undefined, { id: 'org/name.q8' }, 'org/name.q8', {}],
  ])('%s %s %j', (repo, file, options, id, request) => {
    expect(pullWishOf(repo, file, options)).toEqual({ id, request })
  })

  it.each([
    [undefined, undefined, {}],
    ['org/name:', undefined, {}],
    ['org/name:Q8', 'a.gguf', {}],
    ['org/name', 'a.bin', {}],
    ['mine', 'a.gguf', {}],
    ['mine', undefined, { id: 'other' }],
    ['a/b/c', undefined, { id: 'x' }],
  ])('wrong: %s %s %j', (repo, file, options) => {
    expect(() => pullWishOf(repo, file, options)).toThrow(UsageError)
  })
})
