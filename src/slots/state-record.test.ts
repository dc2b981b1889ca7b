import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { NewEvent } from '../contract/events.ts'
import type { SlotStateRecord } from '../contract/slot-state.ts'
import { type Home, homeAt, slotStatePath } from '../files/home.ts'
import { type Log, silentLog } from '../kernel/log.ts'
import { createRecordWriter, readStateRecord } from './state-record.ts'

let home: Home
beforeEach(async () => {
  home = homeAt(await mkdtemp(join(tmpdir(), 'hal0-record-')))
})
afterEach(() => rm(home.label, { recursive: true, force: true }))

const record = (message: string): SlotStateRecord => ({
  name: 'a',
  state: 'ready',
  model_id: 'm',
  port: 8081,
  updated_at: '2026-01-01T00:00:00.000Z',
  message,
  extra: { attempt_id: 'x', process: { pid: 1, start_ticks: 2, boot_id: 'b' } },
})

describe('the state record', () => {
  it('is read as it was written', async () => {
    const writer = createRecordWriter(home, 'a', { log: silentLog, bus: { publish: () => {} } })
    writer.write(record('hello'))
    await writer.flush()
    expect(await readStateRecord(home, 'a', silentLog)).toEqual(record('hello'))
  })

  it('is the newest after a burst, and a reader never sees a torn one', async () => {
    const writer = createRecordWriter(home, 'a', { log: silentLog, bus: { publish: () => {} } })
    let isDone = false
    const reading = (async () => {
      while (!isDone) {
        const text = await readFile(slotStatePath(home, 'a'), 'utf8').catch(() => '{}')
        JSON.parse(text)
      }
    })()
    for (let i = 0; i < 500; i++) {
      writer.write(record('x'.repeat(i)))
      if (i % 50 === 0) await writer.flush()
    }
    await writer.flush()
    isDone = true
    await reading
    expect((await readStateRecord(home, 'a', silentLog))?.message).toHaveLength(499)
  })

  it.each([
    ['half a file', '{"name": "a", "st'],
    ['another shape', '{"name": "a", "state": "flying"}'],
    ['nothing', ''],
  ])('is passed over and said when it is %s', async (_name, text) => {
    const writer = createRecordWriter(home, 'a', { log: silentLog, bus: { publish: () => {} } })
    writer.write(record(''))
    await writer.flush()
    await writeFile(slotStatePath(home, 'a'), text)
    const warned: string[] = []
    const log: Log = { ...silentLog, warn: (_facts, message) => void warned.push(message) }
    expect(await readStateRecord(home, 'a', log)).toBeUndefined()
    expect(warned).toHaveLength(1)
  })

  it('that cannot be written is told, hurts nobody, and is tried again at the next change', async () => {
    await writeFile(join(home.label, 'var-lib'), 'a file where the folder should be')
    const told: string[] = []
    const bus = { publish: ({ type }: NewEvent) => void told.push(type) }
    const writer = createRecordWriter(home, 'a', { log: silentLog, bus })
    writer.write(record('one'))
    await writer.flush()
    expect(told).toEqual(['slot.state_not_saved'])
    await rm(join(home.label, 'var-lib'))
    writer.write(record('two'))
    await writer.flush()
    expect((await readStateRecord(home, 'a', silentLog))?.message).toBe('two')
  })
})
