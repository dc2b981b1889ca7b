import { expect, it } from 'vitest'
import { KEY, RESERVATION, stubLanePorts, USER } from '../../test/support/stub-lane-ports.ts'
import { stubRow } from '../../test/support/stub-slots-api.ts'
import type { Caller } from '../access/caller.ts'
import type { UsageBy } from '../contract/usage.ts'
import { Hal0Error } from '../kernel/errors.ts'
import { nameGroups } from './usage-names.ts'

const SUMS = {
  requests: 1,
  failed: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
  cached_tokens: 0,
  unknown: 0,
  busy_ms: 1,
}
const LOCAL: Caller = { kind: 'local_admin' }
const ports = stubLanePorts((_call, answer) => answer, stubRow)
const { bookings } = ports

function names(by: UsageBy, keys: readonly (string | null)[], more = {}) {
  const groups = keys.map((key) => ({ key, ...SUMS }))
  const named = nameGroups({ from: '', to: '', by, total: SUMS, groups }, { ...ports, ...more }, LOCAL)
  expect(named.groups.map(({ key }) => key)).toEqual(keys)
  return named.groups.map(({ name }) => name)
}

it.each<[UsageBy, string, string | null]>([
  ['user', USER.id, USER.name],
  ['user', 'gone', null],
  ['key', KEY.id, `${KEY.name} (${KEY.prefix})`],
  ['key', 'gone', null],
  ['slot', 'agent', null],
  ['hour', '2026-01-01T00:00:00.000Z', null],
])('by %s, %s: %s', (by, key, name) => {
  expect(names(by, [key, null])).toEqual([name, null])
})

it('a reservation is called by its title, else by lane and start; what cannot be read has no name', () => {
  const show = (id: string) => {
    if (id === 'gone') throw Hal0Error.of('reservation.not_found', 'there is none')
    return { ...RESERVATION, id, title: id === 'r1' ? 'Demo' : '' }
  }
  const start = `${RESERVATION.lane} ${RESERVATION.start}`
  expect(names('reservation', ['r1', 'r2', 'gone', null], { bookings: { ...bookings, show } })).toEqual([
    ...['Demo', start],
    ...[null, null],
  ])
})
