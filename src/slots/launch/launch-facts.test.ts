import { describe, expect, it } from 'vitest'
import { openActor } from '../../../test/support/actor-harness.ts'

describe('what a start tells and gives back', () => {
  it('shows the context window of the last launch, null before', async () => {
    const slot = openActor({})
    expect(slot.row()).toMatchObject({ ctx_effective: null, ctx_source: null })
    const loading = slot.load()
    await slot.settle()
    expect(slot.row()).toMatchObject({ ctx_effective: 4_096, ctx_source: 'native' })
    slot.say({ kind: 'ready', parallel: 1 })
    await loading
    const unloading = slot.unload(0)
    await slot.settle()
    await slot.clock.advance(60_000)
    await unloading
    expect(slot.row()).toMatchObject({ state: 'offline', ctx_effective: 4_096, ctx_source: 'native' })
  })

  it('gives the port back when the engine is gone, and not before', async () => {
    const slot = openActor({})
    const loading = slot.load()
    await slot.settle()
    slot.say({ kind: 'ready', parallel: 1 })
    await loading
    expect(slot.portsReleased).toEqual([])
    const unloading = slot.unload(0)
    await slot.settle()
    await slot.clock.advance(60_000)
    await unloading
    expect(slot.portsReleased).toEqual(['s'])
  })

  it('gives the port back when nothing could be started', async () => {
    const slot = openActor({})
    slot.failNextStart('no such program')
    await expect(slot.load()).rejects.toMatchObject({ code: 'slot.spawn_failed' })
    expect(slot.portsReleased).toEqual(['s'])
  })
})
