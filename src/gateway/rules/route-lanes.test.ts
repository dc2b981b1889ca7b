import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LaneStanding } from '../../lanes/rules/lane-standing.ts'
import { chooseImageSlot } from './choose-image-slot.ts'
import type { RouteCandidate } from './find-slot.ts'
import { compareCandidates } from './rank-slots.ts'
import { type RouteQuery, resolveRoute } from './resolve-route.ts'
import type { RouteLanes } from './route-lanes.ts'

function slot(name: string, facts: Partial<RouteCandidate> = {}): RouteCandidate {
  return {
    ...{ name, aliases: [], type: 'llm', default: false, state: 'ready', idle_reason: null, model_id: 'm' },
    ...{ device: 'cpu', runner: 'standard', in_flight: 0, lastUsedMs: 0 },
    ...facts,
  }
}

type Standings = Readonly<Record<string, LaneStanding>>

function lanesOf(standings: Standings, own: Readonly<Record<string, string>> = {}): RouteLanes {
  return { standing: (name) => standings[name], ownLaneFor: (model) => own[model], isFallback: () => false }
}

const resolve = (model: string, rows: readonly RouteCandidate[], lanes: RouteLanes, more: Partial<RouteQuery> = {}) =>
  resolveRoute({
    ...{ model, needs: 'llm', rows, unknownModel: 'agent', registered: new Set(), onDemandSlot: '', lanes },
    ...more,
  })
const cold = { state: 'offline' } as const
const loading = { state: 'starting' } as const
const busy = { state: 'serving', in_flight: 3 } as const
const empty = { state: 'offline', model_id: null } as const

describe('several lanes and slots of one model', () => {
  it.each<[string, readonly RouteCandidate[], Standings, string]>([
    ['own before free ones', [slot('a'), slot('b')], { b: 'own' }, 'b'],
    ['own, although it is busier', [slot('a'), slot('b', busy)], { a: 'open', b: 'own' }, 'b'],
    ['own, although it still loads', [slot('a'), slot('b', loading)], { b: 'own' }, 'b'],
    ['a free slot before one of others', [slot('a'), slot('b')], { a: 'closed' }, 'b'],
    ['a cold slot before a lane of others', [slot('a'), slot('b', cold)], { a: 'closed' }, 'b'],
    ['an open lane before one of others', [slot('a'), slot('b', busy)], { a: 'closed', b: 'open' }, 'b'],
    ['open lanes and slots by what they do: the free slot', [slot('a', busy), slot('b')], { a: 'open' }, 'b'],
    ['open lanes and slots by what they do: the free lane', [slot('a'), slot('b', busy)], { a: 'open' }, 'a'],
    ['a lane that is up before a cold slot', [slot('a', cold), slot('b')], { b: 'open' }, 'b'],
    ['a lane that loads before a cold slot', [slot('a', cold), slot('b', loading)], { b: 'open' }, 'b'],
    // No request loads a lane, but one loads a slot, even where the lane was used later.
    ['a cold slot before a cold lane', [slot('a', { ...cold, lastUsedMs: 9 }), slot('b', cold)], { a: 'open' }, 'b'],
    ['a lane that stops is none to wait for', [slot('a', { state: 'unloading' }), slot('b', cold)], { a: 'open' }, 'b'],
    ['a cold lane before one of others', [slot('a'), slot('b', cold)], { a: 'closed', b: 'open' }, 'b'],
    ['only of others: theirs, which says so', [slot('a', busy), slot('b')], { a: 'closed', b: 'closed' }, 'b'],
    ['own of another type cannot answer', [slot('a', { type: 'embedding' }), slot('b')], { a: 'own' }, 'b'],
  ])('%s', (_name, rows, standings, expected) => {
    for (const order of [rows, rows.toReversed()]) {
      expect(resolve('m', order, lanesOf(standings))).toMatchObject({ kind: 'slot', slot: expected, fallback: false })
    }
  })

  it.each<[string, string, Standings]>([
    ['a lane of others by its name', 'a', { a: 'closed', b: 'open' }],
    ['a lane of others by its alias', 'alias-a', { a: 'closed', b: 'own' }],
    ['a slot while there is an own lane', 'a', { b: 'own' }],
  ])('%s is never moved', (_name, model, standings) => {
    const rows = [slot('a', { aliases: ['alias-a'] }), slot('b')]
    expect(resolve(model, rows, lanesOf(standings))).toMatchObject({ kind: 'slot', slot: 'a' })
  })
})

describe('the own lane while its default stands in', () => {
  const rows = [slot('agent', { model_id: 'other' }), slot('a', { model_id: 'default' }), slot('b')]
  const own = lanesOf({ a: 'own' }, { m: 'a', booked: 'a' })

  it.each([
    ['before a slot that has the model', 'm', {}],
    ['before the slot on demand', 'booked', { registered: new Set(['booked']), onDemandSlot: 'scratch' }],
    ['of a model nobody has', 'booked', {}],
  ])('%s', (_name, model, more) => {
    expect(resolve(model, rows, own, more)).toMatchObject({ kind: 'slot', slot: 'a', reason: '2 own lane' })
  })

  it('also while it runs nothing', () => {
    const none = [rows[0], slot('a', empty)].filter((row) => row !== undefined)
    expect(resolve('m', none, own)).toMatchObject({ slot: 'a', reason: '2 own lane', fallback: false })
  })

  it('not on a path that its type does not answer', () => {
    const decision = resolve('m', [...rows, slot('e', { type: 'embedding' })], own, { needs: 'embedding' })
    expect(decision).toMatchObject({ slot: 'e' })
  })

  it('one that is not there is passed over', () => {
    expect(resolve('m', rows, lanesOf({}, { m: 'gone' }))).toMatchObject({ slot: 'b' })
  })
})

describe('the slot on demand', () => {
  const more = { registered: new Set(['m']), onDemandSlot: 'scratch' }

  it.each<[string, readonly RouteCandidate[], Standings, object]>([
    ['is not used where an open lane serves', [slot('a')], { a: 'open' }, { kind: 'slot', slot: 'a' }],
    ['nor where the own lane does', [slot('a', loading)], { a: 'own' }, { kind: 'slot', slot: 'a' }],
    ['serves what only others have booked', [slot('a')], { a: 'closed' }, { kind: 'on_demand', slot: 'scratch' }],
    ['also among several of them', [slot('a'), slot('b')], { a: 'closed', b: 'closed' }, { kind: 'on_demand' }],
    ['is not needed beside a free slot', [slot('a'), slot('b', cold)], { a: 'closed' }, { kind: 'slot', slot: 'b' }],
    ['is no lane', [slot('scratch', empty)], { scratch: 'open' }, { kind: 'error', code: 'model_not_found' }],
    ['is no lane, though it has the model', [slot('scratch')], { scratch: 'own' }, { kind: 'slot', slot: 'scratch' }],
  ])('%s', (_name, rows, standings, expected) => {
    expect(resolve('m', rows, lanesOf(standings), more)).toMatchObject(expected)
  })

  it('of another type leaves the lane of others', () => {
    const rows = [slot('a', { type: 'embedding' })]
    expect(resolve('m', rows, lanesOf({ a: 'closed' }), { ...more, needs: 'embedding' })).toMatchObject({ slot: 'a' })
  })

  it('is explained', () => {
    const { steps } = resolve('m', [slot('a')], lanesOf({ a: 'closed' }), { ...more, explain: true })
    expect(steps.map(({ n, text, outcome }) => `${n} ${outcome}: ${text}`)).toEqual([
      '1 passed: no slot and no alias has this name',
      '2 passed: only a lane that others have booked has this model',
      '3 chosen: registered, loaded on demand',
    ])
  })
})

describe('who stands in', () => {
  const agent = slot('agent', { model_id: 'x' })
  it.each<[string, string, readonly RouteCandidate[], Standings, string]>([
    ['a chain goes past a lane of others', 'hal0/gpu', [slot('gpu'), agent], { gpu: 'closed' }, 'agent'],
    ['also to a cold slot', 'hal0/gpu', [slot('gpu'), { ...agent, ...cold }], { gpu: 'closed' }, 'agent'],
    ['but not past the last', 'hal0/gpu', [slot('gpu'), { ...agent, ...empty }], { gpu: 'closed' }, 'gpu'],
    [
      'a chain goes past a lane that no request loads',
      'hal0/gpu',
      [slot('gpu', cold), { ...agent, ...cold }],
      { gpu: 'open' },
      'agent',
    ],
    ['a chain stays at a free lane', 'hal0/gpu', [slot('gpu'), agent], { gpu: 'open' }, 'gpu'],
    ['a chain begins at the own lane', 'hal0/utility', [slot('utility'), agent], { agent: 'own' }, 'agent'],
    ['no model named: agent', '', [agent, slot('gpu')], { gpu: 'own' }, 'agent'],
    [
      'agent is booked by others: the default of the type',
      '',
      [agent, slot('b', { default: true })],
      { agent: 'closed' },
      'b',
    ],
    ['agent is booked by others, and nothing else is there', 'x-1', [agent, slot('b')], { agent: 'closed' }, 'agent'],
  ])('%s', (_name, model, rows, standings, expected) => {
    expect(resolve(model, rows, lanesOf(standings))).toMatchObject({ kind: 'slot', slot: expected })
  })

  it.each<[Standings, string]>([
    [{}, 'a'],
    [{ a: 'closed' }, 'b'],
    [{ b: 'own' }, 'b'],
    [{ a: 'closed', b: 'closed' }, 'a'],
  ])('for a type, with %j', (standings, expected) => {
    const rows = [slot('a', { type: 'embedding', default: true }), slot('b', { type: 'embedding' })]
    expect(resolve('', rows, lanesOf(standings), { needs: 'embedding' })).toMatchObject({ slot: expected })
  })

  it.each<[Standings, string]>([
    [{}, 'img'],
    [{ img: 'closed' }, 'z'],
  ])('for images without a model, with %j', (standings, expected) => {
    const bare = { type: 'image', model_id: null } as const
    const rows = [slot('img', bare), slot('z', bare)]
    const asked = { model: '', rows, unknownModel: 'agent', registered: new Set<string>(), onDemandSlot: '' } as const
    expect(chooseImageSlot({ ...asked, lanes: lanesOf(standings) })).toMatchObject({ kind: 'slot', slot: expected })
  })
})

describe('over random houses', () => {
  const row = fc.record({
    state: fc.constantFrom<RouteCandidate['state']>('ready', 'serving', 'starting', 'offline', 'unloading', 'error'),
    model_id: fc.constantFrom('m', 'other', null),
    in_flight: fc.nat(3),
    lastUsedMs: fc.nat(3),
    standing: fc.constantFrom<LaneStanding>('own', 'open', 'closed', undefined),
  })
  const house = fc
    .array(row, { minLength: 1, maxLength: 6 })
    .map((facts) => facts.map(({ standing, ...more }, n) => ({ row: slot(`s${n}`, more), standing })))

  it('somebody else’s lane is chosen only where nothing else has the model, and the own one always', () => {
    fc.assert(
      fc.property(house, (all) => {
        const rows = all.map((one) => one.row)
        const standings = Object.fromEntries(all.map((one) => [one.row.name, one.standing]))
        const decision = resolve('m', rows, lanesOf(standings))
        const able = rows.filter((one) => one.model_id === 'm')
        const chosen = decision.kind === 'slot' && !decision.fallback ? decision.slot : undefined
        if (able.length === 0) return chosen === undefined
        const has = (standing: LaneStanding) => able.some(({ name }) => standings[name] === standing)
        if (has('own')) return standings[chosen ?? ''] === 'own'
        const isClosed = standings[chosen ?? ''] === 'closed'
        return isClosed === able.every(({ name }) => standings[name] === 'closed')
      }),
    )
  })

  it('without lanes the order is that of slots', () => {
    fc.assert(
      fc.property(house, (all) => {
        const rows = all.map((one) => one.row)
        const [best] = rows.filter((one) => one.model_id === 'm').toSorted(compareCandidates)
        const decision = resolve('m', rows, lanesOf({}))
        expect(decision.kind === 'slot' ? decision.slot : undefined).toBe(best?.name)
        expect(decision).toEqual(resolve('m', rows, lanesOf({}), { lanes: undefined }))
      }),
    )
  })
})
