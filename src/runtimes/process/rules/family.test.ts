import { describe, expect, it } from 'vitest'
import { familyOf, type SeenProcess } from './family.ts'

const SELF = 50
const COOKIE = 'home:agent:a1'

/** A process of the engine's group 100, child of the daemon, unless said otherwise. */
function seen(pid: number, change: Partial<SeenProcess> = {}): SeenProcess {
  return {
    pid,
    state: 'S',
    parentPid: 1,
    groupId: 100,
    sessionId: 100,
    threads: 1,
    startTicks: pid * 10,
    isKernelThread: false,
    cookie: undefined,
    ...change,
  }
}

function look(table: SeenProcess[], known: [number, number][] = [[100, 1000]], groupId: number | undefined = 100) {
  const family = familyOf(table, { cookie: COOKIE, groupId, known: new Map(known), selfPid: SELF })
  return { pids: family.members.map((member) => member.pid), ownsGroup: family.ownsGroup }
}

const elsewhere = { groupId: 7, sessionId: 7 }

describe('familyOf', () => {
  it.each<[string, SeenProcess[], number[], boolean]>([
    ['the main process', [seen(100)], [100], true],
    ['nobody', [seen(8, elsewhere)], [], false],
    ['its group, cookie or not', [seen(100), seen(101)], [100, 101], true],
    ['its session, in a group of its own', [seen(100), seen(101, { groupId: 101 })], [100, 101], true],
    ['a cookie elsewhere', [seen(101, { ...elsewhere, cookie: COOKIE })], [101], false],
    ['not the cookie of another attempt', [seen(101, { ...elsewhere, cookie: `${COOKIE}1` })], [], false],
    [
      'grandchildren elsewhere, in any order',
      [seen(103, { ...elsewhere, parentPid: 102 }), seen(102, { ...elsewhere, parentPid: 100 }), seen(100)],
      [103, 102, 100],
      true,
    ],
    ['the group after its leader is gone, by a cookie', [seen(101, { cookie: COOKIE }), seen(102)], [101, 102], true],
    ['no zombies', [seen(100, { state: 'Z' })], [], false],
    ['nobody of a recycled group', [seen(100, { startTicks: 5 }), seen(101, { parentPid: 100 })], [], false],
    ['never the daemon', [seen(100), seen(SELF, { cookie: COOKIE })], [100], true],
    ['never init', [seen(100), seen(1, { cookie: COOKIE })], [100], true],
  ])('finds %s', (_what, table, pids, ownsGroup) => {
    expect(look(table)).toEqual({ pids, ownsGroup })
  })

  it('keeps who was known before, though nothing else points to it any more', () => {
    const orphan = seen(102, { ...elsewhere, startTicks: 7 })
    expect(look([orphan], [[102, 7]]).pids).toEqual([102])
    expect(look([orphan], [[102, 8]]).pids).toEqual([])
  })

  it('trusts no group number that it did not make', () => {
    const table = [seen(101, { cookie: COOKIE }), seen(102)]
    expect(familyOf(table, { cookie: COOKIE, groupId: undefined, known: new Map(), selfPid: SELF })).toMatchObject({
      members: [{ pid: 101 }],
      ownsGroup: false,
    })
  })
})
