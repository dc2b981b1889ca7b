import { expect, it } from 'vitest'
import { z } from 'zod'
import { reservationMadeSchema, reservationRowSchema } from '../../src/contract/reservation.ts'
import { statusSchema } from '../../src/contract/status.ts'
import { startPeopleDaemon } from '../support/people-daemon.ts'

const listSchema = z.object({ notifications: z.array(z.object({ event: z.string(), body: z.string() })) })

it('what people booked ends with them, and those who shared it are told', async () => {
  const { event, ask, keyOf } = await startPeopleDaemon()
  await ask('POST /api/lanes', { name: 'gpu0' })
  await keyOf('root', 'admin')
  const keys = { ann: await keyOf('ann'), bob: await keyOf('bob') }
  const book = async (inMinutes: number, key: string, members: readonly string[]) => {
    const start = new Date(Date.now() + inMinutes * 60_000).toISOString()
    const wanted = { lane: 'gpu0', start, minutes: 60, model: 'hello', members }
    const { reservations } = reservationMadeSchema.parse(await ask('POST /api/reservations', wanted, key))
    return reservations[0]?.id ?? ''
  }
  const ids = [await book(60, keys.ann, ['bob']), await book(180, keys.bob, ['ann'])] as const
  const row = async (id: string) => reservationRowSchema.parse(await ask(`GET /api/reservations/${id}`))

  expect(await ask('DELETE /api/users/ann')).toBe(204)
  expect(await row(ids[0])).toMatchObject({ status: 'cancelled', owner: { name: 'deleted user' } })
  expect(await row(ids[1])).toMatchObject({ status: 'approved', owner: { name: 'bob' }, members: [] })
  const { notifications } = listSchema.parse(await ask('GET /api/notifications', undefined, keys.bob))
  expect(notifications.find(({ event: what }) => what === 'cancelled')?.body).toContain(
    'Its owner, ann, was deleted by local.',
  )

  await ask('PATCH /api/users/bob', { disabled: true })
  expect((await row(ids[1])).status).toBe('cancelled')
  const told = await event(({ type, data }) => type === 'access.user_changed' && data['disabled'] === true)
  expect(told.message).toContain('; 1 open reservation of theirs was cancelled or ended')
  expect(statusSchema.parse(await ask('GET /api/status')).notify_problem).toBeNull()
})
