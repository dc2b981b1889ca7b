import { describe, expect, it } from 'vitest'
import type { SeenProcess } from './family.ts'
import { chooseRecorded, chooseSurvivors } from './survivors.ts'

function seen(
  pid: number,
  startTicks: number,
  cookie: string | undefined,
  change: Partial<SeenProcess> = {},
): SeenProcess {
  const base = { state: 'S', parentPid: 1, groupId: 100, sessionId: 100, threads: 1, isKernelThread: false }
  return { ...base, pid, startTicks, cookie, ...change }
}

function choose(table: SeenProcess[], own: string[] = []) {
  const options = { homeId: 'home', selfPid: 50, isOwn: (cookie: string) => own.includes(cookie) }
  return chooseSurvivors(table, options).map(({ cookie, main, groupId }) => ({ ...cookie, pid: main.pid, groupId }))
}

const a1 = { homeId: 'home', slot: 'agent', attemptId: 'a1' }

describe('chooseSurvivors', () => {
  it('groups by attempt; the oldest stands for it', () => {
    const table = [
      seen(99, 12, 'home:agent:a1'),
      seen(100, 10, 'home:agent:a1'),
      seen(200, 9, 'home:coder:b1', { groupId: 200, sessionId: 200 }),
    ]
    expect(choose(table)).toEqual([
      { ...a1, pid: 100, groupId: 100 },
      { homeId: 'home', slot: 'coder', attemptId: 'b1', pid: 200, groupId: 200 },
    ])
  })

  it('takes the session leader when two started in one tick, whatever their pids', () => {
    expect(choose([seen(7, 10, 'home:agent:a1'), seen(100, 10, 'home:agent:a1')])).toEqual([
      { ...a1, pid: 100, groupId: 100 },
    ])
  })

  it('knows no group when the wrapper that made it is gone', () => {
    expect(choose([seen(101, 12, 'home:agent:a1')])).toEqual([{ ...a1, pid: 101, groupId: undefined }])
  })

  it.each<[string, SeenProcess]>([
    ['another home', seen(100, 1, 'home2:agent:a1')],
    ['no cookie', seen(100, 1, undefined)],
    ['half a cookie', seen(100, 1, 'home:agent')],
    ['a zombie', seen(100, 1, 'home:agent:a1', { state: 'Z' })],
    ['the daemon itself', seen(50, 1, 'home:agent:a1')],
    ['one of the asker', seen(100, 1, 'home:agent:own')],
  ])('leaves out %s', (_what, process) => {
    expect(choose([process], ['home:agent:own'])).toEqual([])
  })
})

describe('chooseRecorded', () => {
  const record = { slot: 'agent', attemptId: 'a1', pid: 100, startTicks: 10 }
  const recorded = (table: SeenProcess[], found = choose2(table)) =>
    chooseRecorded(table, [record], { homeId: 'home', selfPid: 50, found }).map(({ cookie, main, groupId }) => ({
      ...cookie,
      pid: main.pid,
      groupId,
    }))
  const choose2 = (table: SeenProcess[]) => chooseSurvivors(table, { homeId: 'home', selfPid: 50, isOwn: () => false })

  it('takes the process of the record that cleared its environment', () => {
    expect(recorded([seen(100, 10, undefined)])).toEqual([{ ...a1, pid: 100, groupId: 100 }])
  })

  it.each<[string, SeenProcess[]]>([
    ['is gone', []],
    ['was recycled', [seen(100, 11, undefined)]],
    ['is a zombie', [seen(100, 10, undefined, { state: 'Z' })]],
    ['says that it is another home’s', [seen(100, 10, 'copy:agent:a1')]],
    ['says that it is another attempt’s', [seen(100, 10, 'home:agent:a2')]],
    ['was found by its cookie', [seen(100, 10, 'home:agent:a1')]],
  ])('leaves alone one that %s', (_name, table) => {
    expect(recorded(table)).toEqual([])
  })

  it('never takes the daemon itself', () => {
    const options = { homeId: 'home', selfPid: 100, found: [] }
    expect(chooseRecorded([seen(100, 10, undefined)], [record], options)).toEqual([])
  })
})
