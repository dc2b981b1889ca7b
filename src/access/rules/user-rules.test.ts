import { describe, expect, it } from 'vitest'
import { findLastAdminFault, findNewUserFault, type UserFacts } from './user-rules.ts'

const admin = (name: string, isDisabled = false): UserFacts => ({ id: `id-${name}`, name, role: 'admin', isDisabled })
const member = (name: string): UserFacts => ({ ...admin(name), role: 'member' })

describe('a new user', () => {
  it.each([
    ['the first, an admin', [], 'ann', 'admin', undefined],
    ['the first, a member', [], 'ann', 'member', 'role'],
    ['the second, a member', [admin('ann')], 'bob', 'member', undefined],
    ['the same name', [admin('ann')], 'ann', 'member', 'name'],
    ['the same in capitals', [admin('ann')], 'ANN', 'member', 'name'],
    ["hal0's own name", [admin('ann')], 'local', 'admin', 'name'],
    ['who is gone', [admin('ann')], 'deleted', 'admin', 'name'],
    ['who acts by itself', [admin('ann')], 'hal0', 'admin', 'name'],
  ] as const)('%s', (_name, users, name, role, param) => {
    expect(findNewUserFault(users, { name, role })?.param).toBe(param)
  })
})

describe('the last admin', () => {
  const gone = undefined
  const demoted = { role: 'member', isDisabled: false } as const
  const disabled = { role: 'admin', isDisabled: true } as const
  const same = { role: 'admin', isDisabled: false } as const
  it.each([
    ['removed', [admin('ann')], gone, 'user'],
    ['made a member', [admin('ann'), member('bob')], demoted, 'role'],
    ['disabled', [admin('ann'), admin('zoe', true)], disabled, 'disabled'],
    ['with another one', [admin('ann'), admin('zoe')], gone, undefined],
    ['unchanged', [admin('ann')], same, undefined],
    ['is somebody else', [admin('zoe'), member('ann')], gone, undefined],
    ['a disabled one removed', [admin('zoe'), admin('ann', true)], gone, undefined],
    ['is not there', [admin('zoe')], gone, undefined],
  ] as const)('%s', (_name, users, after, param) => {
    const fault = findLastAdminFault(users, 'id-ann', after)
    expect(fault?.param).toBe(param)
    if (fault !== undefined) expect(fault.message).toMatch(/ann is the last admin/)
  })
})
