import { describe, expect, it } from 'vitest'
import { openActor, openReadyActor } from '../../../test/support/actor-harness.ts'
import { Hal0Error } from '../../kernel/errors.ts'

const READY = { kind: 'ready', parallel: 2 } as const

describe('a request for another model that leaves', () => {
  // Who came behind it waited until somebody else's answer ended, for a place that was free.
  it('by itself, makes room for those that came behind it', async () => {
    const slot = await openReadyActor()
    await slot.acquire({ modelId: 'm' })
    const leave = new AbortController()
    slot.acquire({ modelId: 'n', signal: leave.signal }).catch(() => undefined)
    const behind = slot.acquire({ modelId: 'm' })
    await slot.settle()
    expect(slot.row().queued).toBe(2)
    leave.abort(new Error('left'))
    await slot.settle()
    expect([slot.row().queued, slot.row().in_flight]).toEqual([0, 2])
    expect(slot.modelOf((await behind).attemptId)).toBe('m')
  })

  it('because its wait is over, does so too', async () => {
    const slot = await openReadyActor()
    await slot.acquire({ modelId: 'm' })
    const other = slot.acquire({ modelId: 'n', waitMs: 1_000 })
    const behind = slot.acquire({ modelId: 'm', waitMs: 60_000 })
    await slot.clock.advance(1_000)
    await expect(other).rejects.toMatchObject({ code: 'slot.loading' })
    expect((await behind).slot).toBe('s')
  })
})

describe('a model that cannot be had', () => {
  // The failure was laid to the model that had run before: the request stayed, and was tried again without end.
  it('because nobody knows it any more, fails for those that asked for it, once', async () => {
    const slot = openActor({})
    slot.unregistered.add('n')
    const bad = slot.acquire({ modelId: 'n' })
    await expect(bad).rejects.toMatchObject({ code: 'model.not_found' })
    await slot.settle()
    expect(slot.events.filter((event) => event.type === 'slot.load_failed')).toHaveLength(1)
    const good = slot.acquire({ modelId: 'm' })
    await slot.settle()
    slot.say(READY)
    expect(slot.modelOf((await good).attemptId)).toBe('m')
  })

  // The engine was stopped first, and then the other one could not be started.
  it('costs no engine that works', async () => {
    const slot = await openReadyActor()
    slot.unregistered.add('n')
    const bad = slot.acquire({ modelId: 'n' })
    const behind = slot.acquire({ modelId: 'm' })
    await expect(bad).rejects.toMatchObject({ code: 'model.not_found' })
    expect(slot.modelOf((await behind).attemptId)).toBe('m')
    expect([slot.engines().length, slot.row().state]).toEqual([1, 'serving'])
  })

  it('is asked about within the wait of the request, also when the files do not answer', async () => {
    const slot = await openReadyActor()
    await slot.settle()
    slot.holdFiles()
    const other = slot.acquire({ modelId: 'n', waitMs: 1_000 })
    const behind = slot.acquire({ modelId: 'm' })
    await slot.clock.advance(1_000)
    await expect(other).rejects.toMatchObject({ code: 'slot.loading' })
    expect((await behind).slot).toBe('s')
  })

  it('leaves those that wait for the one before it their turn', async () => {
    const slot = await openReadyActor()
    slot.unregistered.add('n')
    const first = await slot.acquire({ modelId: 'm' })
    const bad = slot.acquire({ modelId: 'n' })
    const behind = slot.acquire({ modelId: 'm' })
    await slot.settle()
    first.release()
    await expect(bad).rejects.toMatchObject({ code: 'model.not_found' })
    expect(slot.modelOf((await behind).attemptId)).toBe('m')
  })

  it('because its engine lists none, makes way for the next', async () => {
    const slot = openActor({})
    const bad = slot.acquire({ modelId: 'n' })
    const good = slot.acquire({ modelId: 'm' })
    await slot.settle()
    slot.say({ kind: 'no_model' })
    await expect(bad).rejects.toMatchObject({ code: 'slot.not_ready' })
    await slot.settle()
    slot.say(READY)
    expect(slot.modelOf((await good).attemptId)).toBe('m')
  })

  it('nor does such an engine keep the place when others come later', async () => {
    const slot = openActor({})
    const bad = slot.acquire({ modelId: 'n' })
    await slot.settle()
    slot.say({ kind: 'no_model' })
    await expect(bad).rejects.toMatchObject({ code: 'slot.not_ready' })
    await expect(slot.acquire({ modelId: 'n' })).rejects.toMatchObject({ code: 'slot.not_ready' })
    const good = slot.acquire({ modelId: 'm' })
    await slot.settle()
    slot.say(READY)
    expect(slot.modelOf((await good).attemptId)).toBe('m')
  })
})

describe('while a failed start is being explained', () => {
  // The swap was told of the failure of the model it had just replaced.
  it.each(['swap', 'restart'] as const)('a %s begins another start and is told of that one', async (wish) => {
    const slot = openActor({ knobs: { leavesGrandchild: true, termDelayMs: 100 } })
    const first = slot.load()
    await slot.settle()
    slot.engine().exit({ code: 3 })
    await Promise.resolve()
    const other = wish === 'swap' ? slot.swap('n') : slot.restart()
    await slot.clock.advance(1_000)
    slot.say(READY)
    expect(await other).toMatchObject({ state: 'ready', model_id: wish === 'swap' ? 'n' : 'm' })
    expect(await first).toMatchObject({ state: 'ready' })
  })
})

describe('a look at the files', () => {
  // The row named a model that no start would run any more.
  it('that was read for another model than the one that counts by now says nothing of it', async () => {
    const slot = openActor({})
    const swapped = slot.swap('n')
    await slot.settle()
    slot.say(READY)
    await swapped
    await slot.settle()
    slot.holdFiles()
    const looked = slot.look()
    await slot.unload()
    slot.setFiles('same')
    expect(await looked).toMatchObject({ state: 'offline', model_id: 'm' })
  })

  it('of a slot that was closed meanwhile is answered, and tells nobody', async () => {
    const slot = openActor({})
    slot.holdFiles()
    const looks = [slot.look(), slot.look()]
    await slot.closeIfDown()
    const told = slot.events.length
    slot.setFiles(Hal0Error.of('slot.not_found', 'no file'))
    await Promise.all([...looks, slot.look()])
    expect(slot.events).toHaveLength(told)
  })

  it('tells when wrong files are right again, also if they say the same as before', async () => {
    const slot = await openReadyActor()
    slot.setFiles(Hal0Error.of('config.invalid', 'line 3'))
    await slot.look()
    slot.setFiles('same')
    await slot.look()
    await slot.look()
    const told = slot.events.filter((event) => event.type === 'slot.config_changed')
    expect(told.map((event) => event.message)).toEqual([
      'slot s: its files are right again; nothing waits for a restart',
    ])
  })
})

describe('nothing of it runs', () => {
  // A slot whose file had gone stayed listed when its last start failed before there was a process.
  it('is said after a start that failed before there was a process', async () => {
    const slot = openActor({ brokenModel: 'm' })
    await slot.load().catch(() => undefined)
    expect(slot.downs).toEqual(['s'])
  })

  it('is not said when the next start begins at once', async () => {
    const slot = openActor({ brokenModel: 'n' })
    const bad = slot.acquire({ modelId: 'n' })
    const good = slot.acquire({ modelId: 'm' })
    await expect(bad).rejects.toThrow('no n')
    await slot.settle()
    slot.say(READY)
    await good
    expect(slot.downs).toEqual([])
  })
})
