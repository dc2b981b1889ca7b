import { writeFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { auditListSchema } from '../../src/contract/audit.ts'
import { laneRowSchema } from '../../src/contract/lane.ts'
import { laneConfigWrittenSchema } from '../../src/contract/lane-config.ts'
import { reservationMadeSchema } from '../../src/contract/reservation.ts'
import { eventually } from '../support/daemon-harness.ts'
import { startPeopleDaemon } from '../support/people-daemon.ts'

async function withPeople() {
  const { home, event, keyOf, local, tryTo: ask } = await startPeopleDaemon()
  await ask('POST /api/lanes', { name: 'gpu0', allow_exclusive: true })
  const keys = { ada: await keyOf('ada', 'admin'), bob: await keyOf('bob') }
  const start = new Date(Date.now() + 3_600_000).toISOString()
  const wanted = { lane: 'gpu0', start, minutes: 60, exclusive: true }
  const made = reservationMadeSchema.parse(await ask('POST /api/reservations', wanted, keys.bob))
  return { home, ask, event, keys, local, id: made.reservations[0]?.id ?? '' }
}

it('the audit of a daemon says who did what, and holds no key', async () => {
  const { ask, keys, local, id } = await withPeople()
  await ask('PUT /api/lanes/gpu0/config', { approval: 'required', limits: { max_hours: 2 } }, keys.ada)
  await ask('POST /api/lanes/gpu0/manual', { model: null }, keys.ada)
  await ask('PATCH /api/reservations/' + id, { title: 'ours' }, keys.ada)
  for (let nth = 0; nth < 3; nth++) await ask('GET /api/audit', undefined, keys.bob)
  await ask(`DELETE /api/reservations/${id}`, undefined, keys.bob)
  const read = async (query: string) => auditListSchema.parse(await ask(`GET /api/audit${query}`, undefined, keys.ada))
  const { audit, next } = await read('')
  expect(audit.map(({ type, actor, message }) => [type, actor?.name, message])).toEqual([
    ['access.refused', 'bob', 'bob, a member, was refused GET /api/audit'],
    ['admin.reservations', 'ada', `ada did PATCH /api/reservations/${id}: title, a booking of bob`],
    ['admin.lanes', 'ada', 'ada did POST /api/lanes/gpu0/manual: model'],
    ['admin.lanes', 'ada', 'ada did PUT /api/lanes/gpu0/config: approval, limits'],
    ['access.key_created', 'local', expect.stringContaining('of bob')],
    ['access.user_created', 'local', 'local made the user bob, a member'],
    ['access.key_created', 'local', expect.stringContaining('of ada')],
    ['access.user_created', 'local', 'local made the user ada, an admin'],
    ['admin.lanes', 'local', 'local did POST /api/lanes (made /api/lanes/gpu0): name, allow_exclusive'],
  ])
  expect(next).toBeNull()
  const first = await read('?actor=ada&type=admin.lanes&limit=1')
  expect(first).toEqual({ audit: [audit[2]], next: audit[2]?.id })
  expect(await read(`?actor=ada&type=admin.lanes&before=${first.next}`)).toEqual({ audit: [audit[3]], next: null })
  for (const secret of [keys.ada, keys.bob, local]) expect(JSON.stringify(audit)).not.toContain(secret)
})

it('a lane that allows exclusive bookings no more names those that stay, whoever edits it', async () => {
  const { home, ask, event, keys, id } = await withPeople()
  const edit = async (patch: object) =>
    laneConfigWrittenSchema.parse(await ask('PUT /api/lanes/gpu0/config', patch, keys.ada)).warnings
  const row = async () => laneRowSchema.parse(await ask('GET /api/lanes/gpu0', undefined, keys.bob))
  const naming = [expect.stringMatching(new RegExp(`not allowed here, but this one.*: ${id} \\(`))]
  expect(await edit({ approval: 'none' })).toEqual([])
  expect(await edit({ allow_exclusive: false })).toEqual(naming)
  expect((await row()).warnings).toEqual(naming)
  expect((await event(({ type }) => type === 'lane.warning')).message).toMatch(/^lane gpu0: exclusive/)
  expect(await edit({ allow_exclusive: true })).toEqual([])
  await writeFile(`${home.etc}/lanes/gpu0.toml`, 'device = "cpu"\n')
  await eventually(async () => (await row()).warnings.length === 1)
  await ask(`DELETE /api/reservations/${id}`, undefined, keys.bob)
  await eventually(async () => (await row()).warnings.length === 0)
})
