import { expect, it } from 'vitest'
import { isWriteTrouble } from './write-trouble.ts'

it.each([
  ['a full disk', 'SQLITE_FULL', true],
  ['a file nobody may write', 'SQLITE_READONLY', true],
  ['a broken disk, at a write', 'SQLITE_IOERR_WRITE', true],
  ['a broken disk, at a read', 'SQLITE_IOERR_READ', false],
  ['a file that was deleted', 'SQLITE_READONLY_DBMOVED', false],
  ['a busy file: its writer may be another', 'SQLITE_BUSY', false],
  ['damage', 'SQLITE_CORRUPT', false],
  ['no table', 'SQLITE_ERROR', false],
  ['no code', '', false],
])('%s', (_what, code, expected) => {
  expect(isWriteTrouble(code)).toBe(expected)
})
