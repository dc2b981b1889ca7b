import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import type { NewEvent } from '../../contract/events.ts'
import { silentLog } from '../../kernel/log.ts'
import { deferred } from '../actor/deferred.ts'
import { createKeptWrites, type KeptWrites } from './kept-writes.ts'

let folder: string
let clock: ManualClock
let events: NewEvent[]
let kept: KeptWrites
/** What was written, in order. */
let written: string[]
let isFull: boolean
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-kept-'))
  await mkdir(join(folder, 's'))
  clock = new ManualClock()
  events = []
  written = []
  isFull = true
  kept = createKeptWrites({ clock, log: silentLog, bus: { publish: (event) => void events.push(event) } })
})
afterEach(async () => {
  kept.close()
  await rm(folder, { recursive: true, force: true })
})

const types = () => events.map(({ type }) => type)
const keep = (text: string, file = 'launch.json') =>
  kept.keep({
    slot: 's',
    path: join(folder, 's', file),
    write: async () => {
      if (isFull) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
      written.push(text)
    },
  })
/** The look at the folder is real I/O. */
async function retried(done: () => boolean): Promise<void> {
  await clock.advance(30_000)
  while (!done()) await new Promise((resolve) => setImmediate(resolve))
}

it('what can be written is, and nothing is said', async () => {
  isFull = false
  await keep('a')
  await clock.advance(60_000)
  expect([written, events]).toEqual([['a'], []])
})

it('on a full disk it does not keep a start, is told once for both files, and is written when there is space', async () => {
  await Promise.all([keep('key', 'engine-key'), keep('record')])
  expect(types()).toEqual(['slot.launch_not_saved'])
  expect(events[0]).toMatchObject({
    severity: 'warning',
    data: { slot: 's' },
    message: expect.stringContaining('ENOSPC'),
  })
  isFull = false
  await clock.advance(29_999)
  expect(written).toEqual([])
  await clock.advance(1)
  await retried(() => types().length === 2)
  expect([written, types()]).toEqual([
    ['key', 'record'],
    ['slot.launch_not_saved', 'slot.launch_saved'],
  ])
})

it('of two starts the last one counts', async () => {
  await keep('first')
  isFull = false
  await keep('second')
  expect(types()).toEqual(['slot.launch_not_saved', 'slot.launch_saved'])
  await clock.advance(90_000)
  expect(written).toEqual(['second'])
})

it('an older write that fails late owes nothing', async () => {
  const held = deferred<void>()
  const older = kept.keep({ slot: 's', path: join(folder, 's', 'launch.json'), write: () => held.promise })
  isFull = false
  await keep('newer')
  held.reject(new Error('ENOSPC'))
  await older
  expect([written, events]).toEqual([['newer'], []])
})

it('nothing is written for a slot that is no more, nor after the end', async () => {
  await keep('a')
  await rm(join(folder, 's'), { recursive: true })
  isFull = false
  await clock.advance(30_000)
  await mkdir(join(folder, 's'))
  isFull = true
  await keep('b', 'engine-key')
  kept.close()
  isFull = false
  await clock.advance(90_000)
  expect(written).toEqual([])
})
