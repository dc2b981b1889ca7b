import { expect, it } from 'vitest'
import { KEY_MADE } from '../../../test/support/lane-answers.ts'
import type { KeyRow } from '../../contract/user.ts'
import { isLastKey } from './last-key.ts'

const NOW = Date.UTC(2026, 11, 24)
const own = KEY_MADE.key
const other = (change: Partial<KeyRow>): KeyRow => ({ ...own, id: 'k2', prefix: 'hal0_other', ...change })
const at = (ms: number) => new Date(ms).toISOString()

it.each<readonly [string, readonly KeyRow[], boolean]>([
  ['alone', [own], true],
  ['not there', [other({})], false],
  ['beside another', [own, other({})], false],
  ['beside one that is revoked', [own, other({ revoked_at: at(NOW - 1) })], true],
  ['beside one that has just ended', [own, other({ expires_at: at(NOW) })], true],
  ['beside one that is about to end', [own, other({ expires_at: at(NOW + 1) })], false],
  ["beside somebody else's", [own, other({ user: { id: 'u9', name: 'ben' } })], true],
  ['revoked before', [{ ...own, revoked_at: at(NOW - 1) }], false],
])('%s', (_name, keys, isLast) => {
  expect(isLastKey(own.id, keys, NOW)).toBe(isLast)
})
