import { afterEach, beforeEach, expect, it } from 'vitest'
import { type AccountsWorld, accountsWorld, LOCAL } from '../../../test/support/accounts-world.ts'
import type { Caller } from '../caller.ts'
import type { AccountRooms } from '../create-accounts.ts'

let world: AccountsWorld
beforeEach(() => {
  world = accountsWorld()
})
afterEach(() => world.remove())

const PASSWORD = 'correct horse battery'

/** Ann and bea are admins; what bea asks with a key of hers. */
async function begin(): Promise<{ accounts: AccountRooms; bea: Caller; keyId: string }> {
  const { accounts } = await world.start()
  await accounts.createUser({ name: 'ann', role: 'admin', password: PASSWORD }, LOCAL)
  const { key } = await accounts.createUser({ name: 'bea', role: 'admin', key_name: 'k' }, LOCAL)
  const found = accounts.key(key?.secret ?? '')
  if (!found.ok || key === null) throw new Error('bea has no key')
  return { accounts, bea: found.value, keyId: key.key.id }
}

// A password takes a while to be hashed, longer where others wait: somebody who was removed meanwhile made themselves another admin.
it.each<[string, (accounts: AccountRooms, keyId: string) => Promise<unknown>, string | undefined]>([
  ['goes on', async () => {}, undefined],
  ['is removed', (accounts) => accounts.removeUser('bea', LOCAL), 'auth.required'],
  ['is disabled', (accounts) => accounts.changeUser('bea', { disabled: true }, LOCAL), 'auth.required'],
  ['is made a member', (accounts) => accounts.changeUser('bea', { role: 'member' }, LOCAL), 'auth.forbidden'],
  ['loses the key', (accounts, keyId) => accounts.revokeKey(keyId, LOCAL), 'auth.required'],
])('an admin who %s while a password is hashed', async (_name, meanwhile, code) => {
  const { accounts, bea, keyId } = await begin()
  const asked = [
    accounts.createUser({ name: 'eve', role: 'admin', password: PASSWORD }, bea),
    accounts.changeUser('ann', { password: `${PASSWORD} of bea` }, bea),
  ]
  await meanwhile(accounts, keyId)
  const codes = (await Promise.allSettled(asked)).map((one) =>
    one.status === 'fulfilled' ? undefined : one.reason.code,
  )
  expect(codes).toEqual([code, code])
  expect(accounts.byName('eve') === undefined).toBe(code !== undefined)
})

it('who is made a member still changes their own password', async () => {
  const { accounts, bea } = await begin()
  const own = accounts.changeUser('bea', { password: PASSWORD }, bea)
  await accounts.changeUser('bea', { role: 'member' }, LOCAL)
  expect(await own).toMatchObject({ role: 'member', has_password: true })
})
