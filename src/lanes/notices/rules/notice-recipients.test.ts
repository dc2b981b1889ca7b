import { describe, expect, it } from 'vitest'
import { person } from '../../../../test/support/notices-world.ts'
import { NOTICE_EVENTS, type NoticeEvent } from '../../../contract/notification.ts'
import { selectRecipients } from './notice-recipients.ts'

const admins = [person('root'), person('boss')]
const known = [...admins, person('alice'), person('bob')]
const booking = { ownerId: 'alice', memberIds: ['bob', 'gone'] }

function recipients(
  event: NoticeEvent,
  more: {
    byUserId?: string
    wasPending?: boolean
    booking?: typeof booking
    people?: typeof known
    admins?: typeof admins
  } = {},
): string[] {
  const people = more.people ?? known
  const chosen = selectRecipients({
    event,
    booking: more.booking ?? booking,
    byUserId: more.byUserId,
    wasPending: more.wasPending === true,
    admins: more.admins ?? admins,
    byId: (id) => people.find((one) => one.id === id),
  })
  return chosen.map(({ id }) => id)
}

describe('selectRecipients', () => {
  it.each<[NoticeEvent, string[]]>([
    ['requested', ['root', 'boss']],
    ['approved', ['alice', 'bob']],
    ['rejected', ['alice', 'bob']],
    ['cancelled', ['alice', 'bob']],
    ['changed', ['alice', 'bob']],
    ['starting_soon', ['alice', 'bob']],
    ['started', ['alice', 'bob']],
    ['fallback', ['alice', 'bob', 'root', 'boss']],
    ['recovered', ['alice', 'bob', 'root', 'boss']],
    ['memory_held', ['alice', 'bob', 'root', 'boss']],
    ['ending_soon', ['alice', 'bob']],
    ['ended', ['alice', 'bob']],
  ])('%s goes to %j', (event, ids) => expect(recipients(event)).toEqual(ids))

  it.each(NOTICE_EVENTS)('%s is not told to who did it', (event) => {
    for (const byUserId of ['alice', 'root']) expect(recipients(event, { byUserId })).not.toContain(byUserId)
  })

  it('tells the admins who were asked that it is cancelled', () => {
    expect(recipients('cancelled', { wasPending: true, byUserId: 'alice' })).toEqual(['bob', 'root', 'boss'])
    expect(recipients('rejected', { wasPending: true })).toEqual(['alice', 'bob'])
  })

  it('tells an admin who holds the booking once', () => {
    expect(recipients('fallback', { booking: { ownerId: 'root', memberIds: ['boss', 'root'] } })).toEqual([
      'root',
      'boss',
    ])
  })

  it('leaves out who may not come in', () => {
    const people = [person('alice', { isDisabled: true }), person('bob')]
    expect(recipients('fallback', { people, admins: [person('root', { isDisabled: true })] })).toEqual(['bob'])
  })
})
