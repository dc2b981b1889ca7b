import { expect, it } from 'vitest'
import { judgePlace } from './judge-place.ts'

const opened = { device: 1n, inode: 7n }

it.each([
  ['the same', { device: 1n, inode: 7n }, undefined],
  ['nothing', undefined, 'deleted or moved away'],
  ['another file', { device: 1n, inode: 8n }, 'was replaced'],
  ['a file of another disk', { device: 2n, inode: 7n }, 'was replaced'],
])('under its name is %s', (_what, found, expected) => {
  const said = judgePlace(opened, found)
  if (expected === undefined) expect(said).toBeUndefined()
  else expect(said).toContain(expected)
})
