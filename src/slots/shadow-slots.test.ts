import { beforeEach, describe, expect, it } from 'vitest'
import { BASE_ROW } from '../../test/support/base-row.ts'
import { createStubSlots } from '../../test/support/stub-slots.ts'
import { viewOf } from '../../test/support/view-of-row.ts'
import { slotFileSchema } from '../config/slots/rules/slot-schema.ts'
import type { SlotRow } from '../contract/slot-row.ts'
import { Hal0Error } from '../kernel/errors.ts'
import { ENGINE_ROUTES } from '../runners/runner.ts'
import { bindingOf } from './launch/read-binding.ts'
import { withShadows } from './shadow-slots.ts'
import type { SlotManager } from './slot-manager.ts'

const ENDPOINT = {
  origin: 'http://127.0.0.1:9000',
  engineKey: undefined,
  alias: 'llama3.2:1b',
  onClientAbort: 'abort',
  routes: ENGINE_ROUTES,
  enableThinking: true,
} as const
const NPU = { device: 'npu', runner: 'flm' } as const
const SHADOW = { ...NPU, state: 'offline', model_id: null, file_model_id: null, updated_at: 'own' } as const

/** What the tests change of the rows. */
let rows: Record<string, Partial<SlotRow>>
let calls: string[]
/** `[npu]` of the file of each LLM on the NPU. */
let switches: { asr: boolean; embed: boolean } | undefined
beforeEach(() => {
  calls = []
  switches = { asr: true, embed: true }
  rows = {
    agent: {},
    flm: {
      ...NPU,
      model_id: 'llama3.2:1b',
      port: 9000,
      pid: 7,
      message: 'serves',
      last_used_at: 'then',
    },
    'flm-embed': { ...SHADOW, type: 'embedding', autoload: true, failure: null },
    'flm-stt': { ...SHADOW, type: 'transcription' },
  }
})

function open() {
  const stub = createStubSlots({ flm: { endpoint: ENDPOINT }, agent: { endpoint: { ...ENDPOINT, alias: 'agent' } } })
  const rowOf = (name: string): SlotRow => ({ ...BASE_ROW, ...rows[name], name })
  const row = (name: string) => (rows[name] === undefined ? undefined : rowOf(name))
  const told = (what: string) => async (name: string) => {
    calls.push(`${what} ${name}`)
    return rowOf(name)
  }
  const never = async () => {
    throw new Error('not for this test')
  }
  const views = Object.keys(rows).map((name) => viewOf(() => rowOf(name)))
  const manager: SlotManager = {
    ...stub,
    views: () => views,
    restartNeeded: (name) => rowOf(name).restart_needed,
    residents: {
      list: () => [],
      evict: async () => 'refused',
      claim: () => ({ gone: never(), giveUp: () => undefined }),
    },
    running: () => undefined,
    standing: () => undefined,
    onDown: () => () => undefined,
    bound: (name) => {
      const file = { name, device: 'npu', ...(switches === undefined ? {} : { npu: switches }) }
      return rows[name]?.device === 'npu' ? bindingOf(slotFileSchema.parse(file)) : undefined
    },
    rows: () => Object.keys(rows).map(rowOf),
    row,
    phases: (name) => row(name)?.phases ?? null,
    load: told('load'),
    unload: told('unload'),
    restart: told('restart'),
    swap: told('swap'),
    look: told('look'),
    logPath: (name) => `/log/${name}`,
    autoload: never,
    sync: never,
    syncFiles: never,
    override: () => undefined,
    retire: never,
    retireIfDown: never,
    leavingFor: () => undefined,
    forget: never,
    close: never,
  }
  return { slots: withShadows(manager), stub }
}
const lease = (slots: SlotManager, name: string, signal = new AbortController().signal) =>
  slots.acquire(name, { signal, waitMs: 1000 })
const codeOf = (wish: Promise<unknown>) =>
  wish.then(
    () => 'nothing',
    (error: unknown) => (error instanceof Hal0Error ? `${error.code} ${error.message}` : String(error)),
  )

describe('the row of a shadow', () => {
  it('is its own by name and type, and its anchor’s by state, model, port and pid', () => {
    expect(open().slots.row('flm-embed')).toMatchObject({
      name: 'flm-embed',
      type: 'embedding',
      state: 'ready',
      model_id: 'llama3.2:1b',
      port: 9000,
      pid: 7,
      message: 'rides slot flm: serves',
      last_used_at: 'then',
      autoload: false,
      file_model_id: null,
      config_problem: null,
    })
  })

  it.each(['offline', 'starting', 'warming', 'serving', 'idle', 'unloading', 'error'] as const)(
    'mirrors %s',
    (state) => {
      rows['flm'] = { ...rows['flm'], state }
      const { slots } = open()
      expect(slots.rows().map((row) => `${row.name} ${row.state}`)).toEqual([
        'agent ready',
        `flm ${state}`,
        `flm-embed ${state}`,
        `flm-stt ${state}`,
      ])
    },
  )

  it.each<[string, Partial<SlotRow>, string, typeof switches?]>([
    ['no model at the anchor', { model_id: null }, 'none has a model'],
    ['its switch off', {}, 'slot flm, whose [npu] embed is not on', { asr: true, embed: false }],
    ['its switch on since the start', { restart_needed: ['npu.embed'] }, 'before [npu] embed was on'],
    ['another program on the NPU', { runner: 'mine' }, 'none has a model'],
  ])('is offline and says why: %s', (_name, change, message, off) => {
    switches = off ?? switches
    rows['flm'] = { ...rows['flm'], ...change }
    const row = open().slots.row('flm-embed')
    expect(row).toMatchObject({ state: 'offline', model_id: null, port: null, pid: null })
    expect(row?.message).toContain(message)
    expect(row?.config_problem).toContain(message)
  })

  it('is offline where the anchor’s file has no switches', () => {
    switches = undefined
    expect(open().slots.row('flm-stt')?.message).toContain('[npu] asr is not on')
  })

  it('is not made of a slot that has an engine of its own', () => {
    rows['flm-embed'] = { ...rows['flm-embed'], device: 'cpu', runner: 'embedded' }
    rows['flm-stt'] = { ...rows['flm-stt'], runner: 'mine' }
    const { slots } = open()
    expect([slots.row('flm-embed')?.updated_at, slots.row('flm-stt')?.updated_at]).toEqual(['own', 'own'])
  })

  it('rides the LLM of the NPU that is up', () => {
    rows['a-chat'] = { ...rows['flm'], state: 'offline', pid: null }
    expect(open().slots.row('flm-stt')?.message).toContain('rides slot flm')
    rows['flm'] = { ...rows['flm'], state: 'offline' }
    expect(open().slots.row('flm-stt')?.message).toContain('rides slot a-chat')
  })
})

describe('a request to a shadow', () => {
  it('leases the anchor’s engine, for its own route only', async () => {
    const { slots, stub } = open()
    const held = await lease(slots, 'flm-embed')
    expect(held).toMatchObject({ slot: 'flm-embed', attemptId: 'attempt-1' })
    expect(held.endpoint).toEqual({ ...ENDPOINT, routes: ['/v1/embeddings'], enableThinking: undefined })
    expect(stub.log).toEqual(['wait flm', 'lease flm'])
    expect(slots.row('flm-embed')?.in_flight).toBe(1)
    expect(slots.row('flm-stt')?.in_flight).toBe(0)
    held.release()
    expect(stub.log).toContain('release flm')
    expect(slots.row('flm-embed')?.in_flight).toBe(0)
    expect((await lease(slots, 'flm-stt')).endpoint.routes).toEqual(['/v1/audio/transcriptions'])
  })

  it('waits for the anchor’s load, and leaves when its client does', async () => {
    const { slots, stub } = open()
    stub.hold('flm')
    const client = new AbortController()
    const waiting = lease(slots, 'flm-stt', client.signal)
    expect(slots.row('flm-stt')?.queued).toBe(1)
    client.abort(new Error('gone'))
    await expect(waiting).rejects.toThrow('gone')
    expect(slots.row('flm-stt')?.queued).toBe(0)
    expect(stub.leases()).toEqual([])
  })

  it('loses its lease with the anchor', async () => {
    const { slots, stub } = open()
    const held = await lease(slots, 'flm-stt')
    stub.revoke(Hal0Error.of('slot.unloading', 'gone', { retryAfterS: 1 }))
    expect(held.revoked.aborted).toBe(true)
  })

  it('is refused where it rides on nothing, naming the key', async () => {
    switches = { asr: false, embed: true }
    const { slots, stub } = open()
    expect(await codeOf(lease(slots, 'flm-stt'))).toMatch(/^slot\.not_ready .*\[npu\] asr/)
    expect(stub.log).toEqual([])
  })

  it('gives its lease back when the switch was turned while it waited', async () => {
    const { slots, stub } = open()
    stub.hold('flm')
    const waiting = codeOf(lease(slots, 'flm-embed'))
    switches = { asr: true, embed: false }
    stub.open('flm')
    expect(await waiting).toMatch(/^slot\.not_ready/)
    expect(stub.leases()).toEqual([])
  })

  it('leaves the leases of others alone', async () => {
    const { slots } = open()
    expect((await lease(slots, 'agent')).endpoint.routes).toBe(ENGINE_ROUTES)
  })
})

describe('what resolution sees of a shadow', () => {
  it.each<[string, Partial<SlotRow>, typeof switches?]>([
    ['rides', { last_used_at: '2026-01-01T00:00:07.000Z' }],
    ['rides on one that idles', { state: 'idle', idle_reason: 'quiet', in_flight: 3 }],
    ['rides on one that is down', { state: 'offline' }],
    ['is stranded', {}, { asr: false, embed: false }],
    ['has no anchor', { model_id: null }],
  ])('is what its row says: %s', (_name, change, off) => {
    switches = off ?? switches
    rows['flm'] = { ...rows['flm'], last_used_at: null, ...change }
    const { slots } = open()
    const views = slots.views()
    expect(views.map(({ name }) => name)).toEqual(Object.keys(rows))
    for (const view of views) {
      const row = slots.row(view.name)
      expect({ ...row, lastUsedMs: row?.last_used_at ? Date.parse(row.last_used_at) : 0 }).toMatchObject({
        aliases: view.aliases,
        type: view.type,
        default: view.default,
        state: view.state,
        idle_reason: view.idle_reason,
        model_id: view.model_id,
        device: view.device,
        runner: view.runner,
        in_flight: view.in_flight,
        lastUsedMs: view.lastUsedMs,
      })
    }
    expect(slots.views()).toBe(views)
  })

  it('is what is so now: a slot may become a shadow, and stop being one', () => {
    const { slots } = open()
    const view = slots.views().find(({ name }) => name === 'flm-stt')
    rows['flm-stt'] = { ...rows['flm-stt'], device: 'cpu', runner: 'embedded', model_id: 'own' }
    expect([view?.state, view?.model_id]).toEqual(['offline', 'own'])
    rows['flm-stt'] = { ...rows['flm-stt'], ...NPU }
    expect([view?.state, view?.model_id]).toEqual(['ready', 'llama3.2:1b'])
  })

  it('phases are its anchor’s', () => {
    rows['flm'] = { ...rows['flm'], phases: { spawn: 1 } }
    const { slots } = open()
    expect([slots.phases('flm-stt'), slots.phases('agent')]).toEqual([{ spawn: 1 }, null])
    switches = { asr: false, embed: true }
    expect(slots.phases('flm-stt')).toBeNull()
  })
})

describe('a lease of a shadow at once', () => {
  it('is one of the anchor, counted as its own', () => {
    const { slots, stub } = open()
    const held = slots.leaseNow('flm-embed', 'llama3.2:1b')
    expect(held).toMatchObject({ slot: 'flm-embed', attemptId: 'attempt-1' })
    expect(held?.endpoint).toEqual({ ...ENDPOINT, routes: ['/v1/embeddings'], enableThinking: undefined })
    const inFlight = () => slots.views().map(({ name, in_flight }) => [name, in_flight])
    expect(inFlight()).toEqual([
      ['agent', 0],
      ['flm', 0],
      ['flm-embed', 1],
      ['flm-stt', 0],
    ])
    const heard: string[] = []
    held?.onRevoked(({ code }) => void heard.push(code))
    stub.revoke(Hal0Error.of('slot.unloading', 'gone', { retryAfterS: 1 }))
    expect([heard, held?.revokedFor?.code]).toEqual([['slot.unloading'], 'slot.unloading'])
    held?.release()
    expect([inFlight()[2], stub.leases()]).toEqual([['flm-embed', 0], []])
  })

  it('counts once, however often it is released', () => {
    const { slots } = open()
    const held = slots.leaseNow('flm-embed', undefined)
    const other = slots.leaseNow('flm-embed', undefined)
    held?.release()
    // The anchor's lease may be released again; the stub says so.
    expect(() => held?.release()).toThrow('twice')
    expect(slots.row('flm-embed')?.in_flight).toBe(1)
    other?.release()
  })

  it('is not given where it rides on nothing, nor where the anchor gives none', () => {
    const { slots, stub } = open()
    stub.hold('flm')
    expect(slots.leaseNow('flm-stt', undefined)).toBeUndefined()
    stub.open('flm')
    switches = { asr: false, embed: true }
    expect(slots.leaseNow('flm-stt', undefined)).toBeUndefined()
    expect([slots.row('flm-stt')?.in_flight, stub.log]).toEqual([0, []])
  })

  it('of another slot is that slot’s own, for the model that was asked for', () => {
    const { slots, stub } = open()
    expect(slots.leaseNow('agent', 'hello')?.slot).toBe('agent')
    expect(stub.modelIds).toEqual(['hello'])
    expect(slots.leaseNow('nobody', undefined)).toBeUndefined()
  })
})

describe('a look at a shadow', () => {
  it('is one at its anchor, under its own name, and counts nowhere', () => {
    const { slots, stub } = open()
    const look = slots.lookNow('flm-embed')
    expect(look).toMatchObject({ slot: 'flm-embed', attemptId: 'attempt-1' })
    expect(slots.row('flm-embed')?.in_flight).toBe(0)
    look?.release()
    look?.release()
    expect(stub.log).toEqual(['look flm'])
    expect(slots.lookNow('agent')?.slot).toBe('agent')
    switches = { asr: false, embed: true }
    expect(slots.lookNow('flm-stt')).toBeUndefined()
  })
})

describe('a person’s wish', () => {
  it('to load a shadow loads its anchor', async () => {
    const { slots } = open()
    expect(await slots.load('flm-stt')).toMatchObject({ name: 'flm-stt', state: 'ready', pid: 7 })
    expect(calls).toEqual(['load flm'])
  })

  it('to load one that rides on nothing is refused', async () => {
    rows['flm'] = { ...rows['flm'], model_id: null }
    expect(await codeOf(open().slots.load('flm-stt'))).toMatch(/^slot\.not_ready/)
    expect(calls).toEqual([])
  })

  it('to stop one is refused, naming the anchor; to stop the anchor is not', async () => {
    const { slots } = open()
    const said = await Promise.all([
      codeOf(slots.unload('flm-stt', { drainMs: 0 })),
      codeOf(slots.restart('flm-embed', { drainMs: 0 })),
      codeOf(slots.swap('flm-stt', { modelId: 'x' }, { drainMs: 0 })),
    ])
    for (const one of said) expect(one).toMatch(/^slot\.illegal_transition .*slot flm:/)
    await slots.unload('flm', { drainMs: 0 })
    expect(calls).toEqual(['unload flm'])
  })

  it('to see its log shows the engine’s', async () => {
    const { slots } = open()
    expect([slots.logPath('flm-stt'), slots.logPath('agent')]).toEqual(['/log/flm', '/log/agent'])
    expect(await slots.look('flm-stt')).toMatchObject({ state: 'ready', pid: 7 })
  })
})
