import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { reservationMadeSchema, reservationRowSchema } from '../../src/contract/reservation.ts'
import { statusSchema } from '../../src/contract/status.ts'
import { daemonFilePath } from '../../src/files/home.ts'
import { startTestDaemon } from '../support/daemon-harness.ts'

const madeSchema = z.object({ key: z.object({ secret: z.string() }) })
const listSchema = z.object({ notifications: z.array(z.object({ event: z.string(), body: z.string() })) })

it('what people booked ends with them, and those who shared it are told', async () => {
  const { home, daemon, event } = await startTestDaemon({})
  const { local_key: local } = JSON.parse(await readFile(daemonFilePath(home), 'utf8')) as { local_key: string }
  const ask = async (line: string, body?: unknown, key = local): Promise<unknown> => {
    const [method = '', path = ''] = line.split(' ')
    const answer = await fetch(`${daemon.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${line}: ${answer.status} ${text}`)
    return text === '' ? answer.status : JSON.parse(text)
  }
  const keyOf = async (name: string, role = 'member') => {
    return madeSchema.parse(await ask('POST /api/users', { name, role, key_name: 'k' })).key.secret
  }
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
