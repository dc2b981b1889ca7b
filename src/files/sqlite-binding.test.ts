import { describe, expect, it } from 'vitest'
import { explainBinding, findBindingProblem } from './sqlite-binding.ts'

const ABSENT = new Error('Could not locate the bindings file. Tried:\n → /a/build/better_sqlite3.node\n → /a/b.node')
const OTHER_NODE = Object.assign(new Error('/a/b.node was compiled against a different Node.js version\nusing 108'), {
  code: 'ERR_DLOPEN_FAILED',
})

describe('explainBinding', () => {
  // The reason in daemon.log was a list of 13 paths, and no word of what to do.
  it.each([
    [ABSENT, 'better-sqlite3 has no binding: its install script did not run'],
    [OTHER_NODE, 'the binding of better-sqlite3: /a/b.node was compiled against a different Node.js version'],
  ])('%s: one line, with the command that mends it', (cause, what) => {
    expect(explainBinding(cause, '/opt/hal0/node_modules/better-sqlite3')).toBe(
      `${what}; \`npm rebuild --prefix /opt/hal0 better-sqlite3\` gets or makes it`,
    )
  })

  it('has nothing to say of other failures', () => {
    expect(explainBinding(Object.assign(new Error('disk is full'), { code: 'SQLITE_FULL' }))).toBeUndefined()
  })
})

it('finds the binding of this clone', () => {
  expect(findBindingProblem()).toBeUndefined()
})
