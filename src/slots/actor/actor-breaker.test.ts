import { describe, expect, it } from 'vitest'
import { type ActorHarness, openActor, openReadyActor } from '../../../test/support/actor-harness.ts'

/** A load that ends with the death of the engine. */
async function failOnce(slot: ActorHarness): Promise<void> {
  const request = slot.acquire()
  await slot.settle()
  slot.engine().exit({ code: 1 })
  await slot.settle()
  await slot.clock.advance(5)
  await expect(request).rejects.toMatchObject({ code: 'slot.spawn_failed' })
}

async function refusal(slot: ActorHarness): Promise<unknown> {
  const request = slot.acquire()
  await slot.settle()
  return request.then(
    () => 'served',
    (error: unknown) => error,
  )
}

describe('the timeline of a slot that always fails', () => {
  it('waits 5, 10, 20, 40 s, then is parked for 300, 600 … 3600 s; each time one start, not 1 ms early', async () => {
    const slot = openActor({})
    const waitsS = [5, 10, 20, 40, 300, 600, 1_200, 2_400, 3_600, 3_600]
    for (const [index, waitS] of waitsS.entries()) {
      await failOnce(slot)
      expect(slot.runtime.starts).toHaveLength(index + 1)
      const isParked = waitS >= 300
      expect(slot.row().breaker).toEqual({
        state: isParked ? 'parked' : 'backoff',
        failures: index + 1,
        retry_after_s: waitS,
      })
      await slot.clock.advance(waitS * 1_000 - 6)
      expect(await refusal(slot)).toMatchObject({
        code: 'slot.crash_looping',
        retryAfterS: 1,
        details: { failures: index + 1, parked: isParked, retry_after_s: 1 },
      })
      expect(slot.runtime.starts).toHaveLength(index + 1)
      await slot.clock.advance(1)
      if (isParked) expect(slot.row().breaker).toMatchObject({ state: 'half_open', retry_after_s: 0 })
    }
  })

  it('a refused request changes nothing', async () => {
    const slot = openActor({})
    await failOnce(slot)
    const before = { ...slot.row(), updated_at: '' }
    for (let i = 0; i < 50; i++) await refusal(slot)
    expect({ ...slot.row(), updated_at: '' }).toEqual(before)
  })
})

describe('a parked slot whose cool-down is over', () => {
  async function parked(): Promise<ActorHarness> {
    const slot = openActor({})
    for (const waitS of [5, 10, 20, 40, 300]) {
      await failOnce(slot)
      await slot.clock.advance(waitS * 1_000)
    }
    return slot
  }

  it('begins one trial for 100 concurrent requests, and serves them all when it succeeds', async () => {
    const slot = await parked()
    const requests = Array.from({ length: 100 }, () => slot.acquire())
    await slot.settle()
    expect(slot.runtime.starts).toHaveLength(6)
    expect(slot.row().breaker).toMatchObject({ state: 'half_open', failures: 5 })
    slot.say({ kind: 'ready', parallel: 100 })
    await slot.settle()
    const leases = await Promise.all(requests)
    for (const lease of leases) lease.release('answered')
    await slot.settle()
    expect(slot.runtime.starts).toHaveLength(6)
    expect(slot.row().breaker).toBeNull()
  })

  it('a failed trial answers all that joined it, and parks longer', async () => {
    const slot = await parked()
    const requests = Array.from({ length: 100 }, () => slot.acquire().catch((error: unknown) => error))
    await slot.settle()
    slot.engine().exit({ code: 1 })
    await slot.clock.advance(5)
    for (const answer of await Promise.all(requests)) expect(answer).toMatchObject({ code: 'slot.spawn_failed' })
    expect(slot.runtime.starts).toHaveLength(6)
    expect(slot.row().breaker).toEqual({ state: 'parked', failures: 6, retry_after_s: 600 })
  })

  it("is not tried by the daemon itself: the trial is the first request's", async () => {
    const slot = await parked()
    await expect(slot.load('daemon')).rejects.toMatchObject({ code: 'slot.crash_looping' })
    expect(slot.runtime.starts).toHaveLength(5)
    const request = slot.acquire()
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 1 })
    await slot.settle()
    await expect(request).resolves.toBeDefined()
  })

  it('the daemon does not try by itself; a person does, at once, and begins afresh', async () => {
    const slot = openActor({})
    await failOnce(slot)
    await expect(slot.load('daemon')).rejects.toMatchObject({ code: 'slot.crash_looping' })
    expect(slot.runtime.starts).toHaveLength(1)
    const loading = slot.load('person')
    await slot.settle()
    expect(slot.runtime.starts).toHaveLength(2)
    expect(slot.row().breaker).toBeNull()
    slot.engine().exit({ code: 1 })
    await slot.clock.advance(5)
    await expect(loading).rejects.toMatchObject({ code: 'slot.spawn_failed' })
    expect(slot.row().breaker).toMatchObject({ failures: 1 })
  })

  it('says why it failed, also when it was unloaded since', async () => {
    const slot = openActor({})
    await failOnce(slot)
    await slot.unload()
    expect(slot.row()).toMatchObject({ state: 'offline', failure: null })
    expect(await refusal(slot)).toMatchObject({
      message: expect.stringContaining('exited with code 1'),
      details: { remedy: expect.stringContaining('do this') },
    })
  })

  it('another launch has no failures; files that say the same keep them', async () => {
    const slot = openActor({})
    await failOnce(slot)
    await slot.look()
    expect(slot.row().breaker).toMatchObject({ failures: 1 })
    slot.newBuild()
    await slot.look()
    expect(slot.row().breaker).toBeNull()
    const request = slot.acquire()
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 1 })
    await slot.settle()
    await expect(request).resolves.toBeDefined()
  })

  it('one model of a slot does not stand for another', async () => {
    const slot = openActor({})
    await failOnce(slot)
    const other = slot.acquire({ modelId: 'n' })
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 1 })
    await slot.settle()
    await expect(other).resolves.toBeDefined()
  })
})

describe('what does not count', () => {
  it('50 intended stops', async () => {
    const slot = await openReadyActor({})
    for (let i = 0; i < 50; i++) {
      await slot.unload(0)
      const loaded = slot.load()
      await slot.settle()
      slot.say({ kind: 'ready', parallel: 1 })
      await slot.settle()
      await loaded
    }
    expect(slot.row().breaker).toBeNull()
    expect(slot.events.filter(({ type }) => type === 'slot.crashed' || type === 'slot.load_failed')).toEqual([])
    expect(slot.loads.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 51 }, () => 'ready'))
  })

  it('files that are missing: mended, they work at once', async () => {
    const slot = openActor({ brokenModel: 'm' })
    for (let i = 0; i < 7; i++) expect(await refusal(slot)).toMatchObject({ code: 'slot.model_missing' })
    expect(slot.row().breaker).toBeNull()
    slot.broken.clear()
    const request = slot.acquire()
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 1 })
    await slot.settle()
    await expect(request).resolves.toBeDefined()
  })
})

describe('a crash while it is up', () => {
  async function comeUp(slot: ActorHarness) {
    const request = slot.acquire()
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 1 })
    await slot.settle()
    return await request
  }

  it('right after each first answer: the answers do not hide that it never recovers', async () => {
    const slot = openActor({})
    for (const [index, waitS] of [5, 10, 20, 40, 300].entries()) {
      const lease = await comeUp(slot)
      lease.release('answered')
      await slot.settle()
      expect(slot.row().breaker).toBeNull()
      slot.engine().exit({ code: 1 })
      await slot.clock.advance(5)
      expect(slot.row().breaker).toMatchObject({ failures: index + 1, retry_after_s: waitS })
      await slot.clock.advance(waitS * 1_000)
    }
  })

  it('after 60 s of ready everything before is forgotten', async () => {
    const slot = openActor({})
    await failOnce(slot)
    await slot.clock.advance(5_000)
    await comeUp(slot)
    await slot.clock.advance(59_999)
    expect(slot.row().breaker).toMatchObject({ failures: 1 })
    await slot.clock.advance(1)
    expect(slot.row().breaker).toBeNull()
    slot.engine().exit({ code: 1 })
    await slot.clock.advance(5)
    expect(slot.row().breaker).toMatchObject({ failures: 1 })
  })

  it('up without a model counts, and stays up for a person to see', async () => {
    const slot = openActor({})
    const request = slot.acquire()
    await slot.settle()
    slot.say({ kind: 'no_model' })
    await expect(request).rejects.toMatchObject({ code: 'slot.not_ready' })
    expect(slot.row()).toMatchObject({ state: 'idle', idle_reason: 'no_model', breaker: { failures: 1 } })
  })
})
