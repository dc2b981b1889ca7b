import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  anna,
  type BookingsWorld,
  ben,
  bookingsWorld,
  local,
  only,
  overlapping,
  people,
  root,
} from '../../../test/support/bookings-world.ts'
import type { Caller } from '../../access/caller.ts'
import { reservationRequestSchema } from '../../contract/reservation.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { HOUR_MS, isoTime, MINUTE_MS } from '../../kernel/units.ts'

let world: BookingsWorld
beforeEach(() => {
  world = bookingsWorld()
})
afterEach(() => world.remove())

const count = () => world.db.prepare('SELECT count(*) FROM reservations').pluck().get()
const request = (more: Record<string, unknown>) => reservationRequestSchema.parse({ lane: 'gpu0', ...more })
const create = (more: Record<string, unknown>, by: Caller = anna) => world.book.bookings.create(request(more), by)
async function failure(promise: Promise<unknown>): Promise<Hal0Error> {
  const thrown = await promise.then(
    () => new Error('it worked'),
    (cause: unknown) => cause,
  )
  if (thrown instanceof Hal0Error) return thrown
  throw thrown
}

describe('one window', () => {
  it('of 20 at once one wins, and 19 are told which', async () => {
    const wanted = world.ask(60, 60)
    const all = await Promise.allSettled(Array.from({ length: 20 }, (_, n) => world.make(wanted, n % 2 ? anna : ben)))
    const won = all.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
    const lost = all.flatMap((one) => (one.status === 'rejected' ? [one.reason as Hal0Error] : []))
    const winner = only(won)
    expect([won.length, lost.length, count()]).toEqual([1, 19, 1])
    const [start, end] = [isoTime(world.clock.nowMs() + HOUR_MS), isoTime(world.clock.nowMs() + 2 * HOUR_MS)]
    for (const error of lost) {
      expect([error.code, error.status]).toEqual(['reservation.overlap', 409])
      const free = { start: end, end: isoTime(world.clock.nowMs() + 3 * HOUR_MS) }
      expect(error.message).toContain(`${winner} of ben (${start} to ${end}); it is free from ${end} to ${free.end}`)
      expect(error.details).toEqual({
        conflicts: [{ id: winner, start, end, owner: 'ben', wanted_start: start }],
        next_free: free,
      })
    }
  })

  it('touching is fine; 1 ms is too much', async () => {
    await world.make(world.ask(60, 60))
    await world.make(world.ask(0, 60))
    await world.make(world.ask(120, 60))
    const nowMs = world.clock.nowMs()
    const at = (startMs: number, endMs: number) => ({ start: isoTime(startMs), end: isoTime(endMs) })
    expect((await failure(create(at(nowMs + 3 * HOUR_MS - 1, nowMs + 4 * HOUR_MS)))).code).toBe('reservation.overlap')
    await create(at(nowMs + 3 * HOUR_MS, nowMs + 4 * HOUR_MS))
    await world.make(world.ask(60, 60, { lane: 'gpu1' }))
    const starts = world.book.calendar.upcoming('gpu0', nowMs).map(({ startMs }) => (startMs - nowMs) / HOUR_MS)
    expect(starts).toEqual([0, 1, 2, 3])
  })

  it('is free again when it was cancelled, rejected or ended early', async () => {
    const [id = ''] = await world.make(world.ask(60, 60))
    await world.book.bookings.cancel(id, { series: false }, anna)
    const [second = ''] = await world.make(world.ask(60, 60))
    await world.clock.advance(70 * MINUTE_MS)
    expect((await world.book.bookings.end(second, anna)).status).toBe('ended_early')
    await world.make(world.ask(0, 50), ben)
  })
})

describe('times', () => {
  it.each([
    ['now', 0, 'ok'],
    ['60 s ago is now', -60_000, 'ok'],
    ['1 ms longer ago is past', -60_001, 'validation.invalid'],
  ])('%s', async (_, agoMs, expected) => {
    const nowMs = world.clock.nowMs()
    const wanted = { start: isoTime(nowMs + agoMs), minutes: 15 }
    if (expected !== 'ok') return expect((await failure(create(wanted))).code).toBe(expected)
    const row = only((await create(wanted)).reservations)
    return expect([row.start, row.end]).toEqual([isoTime(nowMs), isoTime(nowMs + 15 * MINUTE_MS)])
  })

  it.each([
    ['wall time of the user', { start: '2026-01-05T10:00', minutes: 60 }, '2026-01-05T09:00:00.000Z', 'Europe/Berlin'],
    [
      'of a zone that is named',
      { start: '2026-01-05T10:00', minutes: 60, time_zone: 'america/new_york' },
      '2026-01-05T15:00:00.000Z',
      'America/New_York',
    ],
    [
      'with an offset',
      { start: '2026-01-05T10:00:00+05:30', minutes: 60 },
      '2026-01-05T04:30:00.000Z',
      'Europe/Berlin',
    ],
  ])('%s', async (_, wanted, start, zone) => {
    const row = only((await create(wanted)).reservations)
    expect([row.start, row.time_zone]).toEqual([start, zone])
  })

  it.each([
    ['an unknown zone', { start: '2026-01-05T10:00', minutes: 60, time_zone: 'Mars/Base' }, 'Mars/Base'],
    ['no such day', { start: '2026-02-30T10:00', minutes: 60 }, '2026-02-30T10:00'],
    ['end before start', { start: '2026-01-05T10:00:00Z', end: '2026-01-05T10:00:00Z' }, 'not after the start'],
    [
      'unknown members',
      { start: '2026-01-05T10:00:00Z', minutes: 60, members: ['ben', 'who', 'what'] },
      '"who", "what"',
    ],
  ])('%s is refused and named', async (_, wanted, text) => {
    const error = await failure(create(wanted))
    expect([error.code, error.message]).toEqual(['validation.invalid', expect.stringContaining(text)])
  })
})

describe('who', () => {
  it('an admin books for others, a member does not', async () => {
    const wanted = { start: '2026-01-05T10:00:00Z', minutes: 60, owner: 'ben', members: ['Anna', 'ben', 'anna'] }
    expect((await failure(create(wanted))).code).toBe('auth.forbidden')
    const row = only((await create(wanted, root)).reservations)
    expect([row.owner, row.members]).toEqual([{ id: 'u-ben', name: 'ben' }, [{ id: 'u-anna', name: 'anna' }]])
    expect((await failure(create({ ...wanted, owner: 'gone' }, root))).message).toContain('gone is disabled')
    expect((await failure(create({ ...wanted, owner: 'who' }, root))).message).toContain('"who"')
  })

  it('others see the window, not what it is for', async () => {
    const [id = ''] = await world.make(world.ask(60, 60, { title: 'secret', members: ['ben'] }))
    const { bookings } = world.book
    const [own, others] = [bookings.show(id, ben), bookings.show(id, { ...ben, userId: 'u-x' } as Caller)]
    expect([own.title, own.members.length, others.title, others.members]).toEqual(['secret', 1, '', []])
    expect(others).toMatchObject({ start: own.start, owner: { name: 'anna' } })
    expect(bookings.list({ mine: true }, ben).map((row) => row.id)).toEqual([id])
    expect(bookings.list({ mine: true }, root)).toEqual([])
    expect(() => bookings.show('r0', anna)).toThrow('there is no reservation "r0"')
  })

  it.each([
    ['nobody named', {}],
    ['local itself named', { owner: 'Local' }],
  ])('once users are defined, this machine says whose booking it is: %s', async (_, more) => {
    const wanted = world.ask(60, 60, more)
    for (const attempt of [world.book.bookings.create(wanted, local), world.book.bookings.check(wanted, local)]) {
      const error = await failure(attempt)
      expect([error.code, error.param]).toEqual(['validation.invalid', 'owner'])
      expect([error.message, error.details?.['remedy']].join()).toMatch(/users are defined.*--owner NAME/)
    }
    expect(count()).toBe(0)
    const row = only((await world.book.bookings.create(world.ask(60, 60, { owner: 'anna' }), local)).reservations)
    expect(row.owner.name).toBe('anna')
  })

  it('the first user takes over what was local', async () => {
    const open = world.again({ people: { ...people, all: () => [] } })
    const [made] = (await open.bookings.create(world.ask(60, 60, { members: ['ben'] }), local)).reservations
    open.close()
    const id = made?.id ?? ''
    const [other = ''] = await world.make(world.ask(120, 60, { members: ['local'] }), ben)
    world.book.adoptLocal('u-ben')
    expect(world.book.bookings.show(id, ben)).toMatchObject({ owner: { name: 'ben' }, members: [] })
    expect(world.book.bookings.show(other, ben).members).toEqual([])
    expect(world.book.calendar.upcoming('gpu0', 0).map(({ ownerId }) => ownerId)).toEqual(['u-ben', 'u-ben'])
  })
})

describe('what for', () => {
  it.each([
    ['the default', {}, { kind: 'model', model: 'org/a', profile: 'chat' }],
    ['a model', { model: 'org/b', profile: 'fast' }, { kind: 'model', model: 'org/b', profile: 'fast' }],
    ['the default with another profile', { profile: 'fast' }, { kind: 'model', model: 'org/a', profile: 'fast' }],
    ['the whole card', { exclusive: true }, null],
  ])('%s', async (_, more, target) => {
    const row = only((await create({ start: '2026-01-05T10:00:00Z', minutes: 60, ...more }, root)).reservations)
    expect(row.target).toEqual(target)
  })

  it('what does not exist is refused', async () => {
    const wanted = { start: '2026-01-05T10:00:00Z', minutes: 60 }
    expect((await failure(create({ ...wanted, model: 'org/missing' }))).code).toBe('model.not_found')
    expect((await failure(create({ ...wanted, lane: 'gpu7' }))).message).toContain('there are gpu0, gpu1')
  })
})

describe('limits', () => {
  it.each([
    ['min_minutes', { minutes: 14.9 }, 'min_minutes: 15 minutes at least; this is 14.9'],
    ['max_hours', { minutes: 24 * 60 + 1 }, 'max_hours: 24 hours at most'],
    ['max_days_ahead', { minutes: 60, start: isoTime(Date.UTC(2026, 0, 31) + 1) }, 'max_days_ahead: 30 days'],
    ['allow_exclusive', { minutes: 60, exclusive: true }, 'allow_exclusive'],
    ['several', { minutes: 1, exclusive: true }, 'allow_exclusive'],
  ])('%s', async (_, more, text) => {
    const wanted = { start: '2026-01-05T10:00:00Z', ...more }
    const error = await failure(create(wanted))
    expect([error.code, error.status, error.message]).toEqual(['reservation.limit', 422, expect.stringContaining(text)])
    const { warnings } = await create(wanted, root)
    expect(warnings.map(({ kind }) => kind)).toContain('outside_limits')
  })

  it('max_open_per_user counts what is open on the lane', async () => {
    world.files.set('gpu0', { limits: { max_open_per_user: 2 } })
    await world.make(world.ask(0, 60))
    await world.make(world.ask(60, 60))
    expect((await failure(world.make(world.ask(120, 60)))).message).toContain('max_open_per_user: 2')
    await world.make(world.ask(120, 60), ben)
    await world.make(world.ask(0, 60, { lane: 'gpu1' }))
    await world.clock.advance(HOUR_MS)
    await world.make(world.ask(120, 60))
  })

  it('max_hours_per_week: weeks of the user, what was ended early counts as it was', async () => {
    world.files.set('gpu0', { limits: { max_hours_per_week: 10 } })
    // Berlin's Monday begins on Sunday at 23:00 UTC.
    await create({ start: '2026-01-04T21:00:00Z', minutes: 8 * 60 })
    expect((await failure(create({ start: '2026-01-05T12:00:00Z', minutes: 241 }))).message).toContain(
      'week of 2026-01-05',
    )
    await create({ start: '2026-01-05T12:00:00Z', minutes: 240 })
    await world.clock.advance(Date.parse('2026-01-05T13:00:00Z') - world.clock.nowMs())
    const active = only(world.book.calendar.upcoming('gpu0', world.clock.nowMs()))
    world.book.calendar.settle('gpu0', world.clock.nowMs(), { afterMs: 0, readySinceMs: undefined })
    await world.book.bookings.end(active.id, anna)
    await create({ start: '2026-01-06T12:00:00Z', minutes: 180 })
    expect((await failure(create({ start: '2026-01-07T12:00:00Z', minutes: 15 }))).code).toBe('reservation.limit')
  })
})

describe('repeats', () => {
  it('all or nothing, every conflict listed', async () => {
    await create({ start: '2026-01-06T10:30', minutes: 60 }, ben)
    await create({ start: '2026-01-08T10:30', minutes: 60 }, ben)
    const daily = { start: '2026-01-05T10:00:00Z', minutes: 60, repeat: { every: 'day', count: 5 } }
    const error = await failure(create(daily))
    expect(error.details?.['conflicts']).toMatchObject([
      { owner: 'ben', wanted_start: '2026-01-06T10:00:00.000Z' },
      { owner: 'ben', wanted_start: '2026-01-08T10:00:00.000Z' },
    ])
    expect(count()).toBe(2)
    expect(world.events).toHaveLength(2)
    const check = await world.book.bookings.check(request(daily), anna)
    expect([check.ok, check.conflicts.length, check.windows.length, count()]).toEqual([false, 2, 5, 2])
  })

  it('what fails in the middle of writing leaves nothing', async () => {
    let made = 0
    const book = world.again({
      newId: (kind) => {
        if (++made > 3) throw new Error('killed')
        return `${kind}-${made}`
      },
    })
    const wanted = request({ start: '2026-01-05T10:00:00Z', minutes: 60, repeat: { every: 'day', count: 5 } })
    await expect(book.bookings.create(wanted, anna)).rejects.toThrow('killed')
    expect([count(), book.calendar.upcoming('gpu0', 0)]).toEqual([0, []])
    world.db.exec(
      "CREATE TRIGGER t BEFORE INSERT ON reservations WHEN NEW.start_ms > 1767780000000 BEGIN SELECT raise(ABORT, 'no'); END",
    )
    await expect(world.book.bookings.create(wanted, anna)).rejects.toThrow('no')
    expect([count(), world.book.calendar.upcoming('gpu0', 0)]).toEqual([0, []])
  })

  it('a series is one', async () => {
    const made = await create({ start: '2026-01-05T10:00', minutes: 60, repeat: { every: 'week', count: 3 } })
    expect(new Set(made.reservations.map(({ series_id }) => series_id)).size).toBe(1)
    expect(made.reservations[0]?.series_id).toMatch(/^s[0-9a-z]{8}$/)
    const [first] = made.reservations
    await world.book.bookings.cancel(first?.id ?? '', { series: true }, anna)
    expect(world.book.calendar.upcoming('gpu0', 0)).toEqual([])
  })
})

describe('a check', () => {
  it('says where else it would fit, of one that does not repeat', async () => {
    const free = async (more: Record<string, unknown> = {}) => {
      return (await world.book.bookings.check(world.ask(60, 60, more), anna)).next_free
    }
    const at = (minutes: number) => isoTime(world.clock.nowMs() + minutes * MINUTE_MS)
    expect(await free()).toBeNull()
    await world.make(world.ask(90, 60), ben)
    expect(await free()).toEqual({ start: at(150), end: at(210) })
    expect(await free({ repeat: { every: 'day', count: 2 } })).toBeNull()
    // Not beyond what the lane lets anybody book.
    world.files.set('gpu0', { limits: { max_days_ahead: 0 } })
    expect(await free()).toBeNull()
  })

  it('offers a member nothing that would be refused next, and tells limits beside what is in the way', async () => {
    await world.make(world.ask(90, 60), ben)
    const [wide, narrow] = [{ max_hours: 1 }, { max_hours: 0.5 }]
    for (const limits of [wide, narrow]) {
      world.files.set('gpu0', { limits })
      const check = await world.book.bookings.check(world.ask(60, 60), anna)
      const { message, details } = await failure(world.make(world.ask(60, 60)))
      const isOffered = limits === wide
      expect([check.next_free !== null, details?.['next_free'] !== undefined]).toEqual([isOffered, isOffered])
      expect([check.limits.length, message.includes('max_hours: 0.5 hours at most')]).toEqual(
        isOffered ? [0, false] : [1, true],
      )
      expect(details?.['limits']).toEqual(isOffered ? undefined : check.limits)
      expect((await world.book.bookings.check(world.ask(60, 60), root)).next_free).not.toBeNull()
    }
  })

  it('tells what is worth knowing and changes nothing', async () => {
    world.files.set('gpu0', { approval: 'required' })
    await world.make(world.ask(0, 60, { model: 'org/b' }), root)
    await world.make(world.ask(120, 60, { model: 'org/b' }), root)
    const { warnings, ok } = await world.book.bookings.check(world.ask(60, 60, { model: 'org/huge' }), anna)
    const kinds = warnings.map(({ kind }) => kind)
    expect([ok, kinds]).toEqual([true, ['neighbour_before', 'neighbour_after', 'exceeds_vram', 'needs_approval']])
    expect(warnings[0]?.message).toContain('the first 60 seconds')
    expect(count()).toBe(2)
  })
})

/** Node runs no TypeScript by itself; vite, which runs the tests, does. */
const IN_CHILD = `
  const { runnerImport } = await import('vite')
  const [file, path, nowMs, startMs, count] = process.argv.slice(1)
  const { module } = await runnerImport(file, { configFile: false, logLevel: 'error' })
  await module.bookHours(path, Number(nowMs), Number(startMs), Number(count))
`

it('two processes on one file never both win', async () => {
  const nowMs = world.clock.nowMs()
  const startMs = nowMs + HOUR_MS
  const file = fileURLToPath(new URL('../../../test/support/book-in-child.ts', import.meta.url))
  const argv = ['--input-type=module', '-e', IN_CHILD, file, world.path, String(nowMs), String(startMs), '40']
  const child = spawn(process.execPath, argv, { stdio: ['pipe', 'pipe', 'inherit'] })
  try {
    let out = ''
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString()
    })
    const exited = once(child, 'exit')
    await Promise.race([once(child.stdout, 'data'), exited])
    child.stdin.write('go\n')
    const said: string[] = []
    for (let n = 0; n < 40; n++) {
      const made = create({ start: isoTime(startMs + n * HOUR_MS), minutes: 60 }, root)
      said.push(
        await made.then(
          () => 'made',
          (error: Hal0Error) => error.code,
        ),
      )
      await new Promise((resolve) => setImmediate(resolve))
    }
    await exited
    const all = [...said, ...out.trim().split('\n').slice(1)]
    expect(all).toHaveLength(80)
    // Whoever finds the file busy is told to come back.
    const known = ['made', 'reservation.overlap', 'lane.store_unavailable']
    expect(all.filter((one) => !known.includes(one))).toEqual([])
    expect(count()).toBe(all.filter((one) => one === 'made').length)
    expect(overlapping(world.db)).toBe(0)
    world.book.calendar.settle('gpu0', nowMs, { afterMs: 0, readySinceMs: undefined })
  } finally {
    child.kill('SIGKILL')
  }
})
