import { readFile } from 'node:fs/promises'
import { expect, it, onTestFinished } from 'vitest'
import { slotStatePath } from '../../src/files/home.ts'
import { eventually, type TestHome } from '../support/daemon-harness.ts'
import { freePort } from '../support/free-port.ts'
import {
  comfySpans,
  type GpuClient,
  gpuClient,
  imageSlot,
  llmSlot,
  makeGpuHome,
  overlaps,
  slotSpans,
  writeSlotFile,
} from '../support/gpu-daemon.ts'
import { type CliChild, startCli } from '../support/run-cli.ts'
import { fakeControl } from '../support/start-fake.ts'
import type { ComfyControl } from '../support/start-fake-comfy.ts'

/** `hal0 serve` as its own process, which can be killed like any other. The times of SPEC 8 hold. */
async function serve(at: TestHome): Promise<{ readonly child: CliChild; readonly hal0: GpuClient }> {
  const child = startCli(['--home', at.folder, 'serve', '--port', '0'], { userFolder: at.folder })
  onTestFinished(async () => {
    child.process.kill('SIGTERM')
    await child.ended
  })
  const [, url = ''] = await child.until('stdout', /(http:\/\/127\.0\.0\.1:\d+)/)
  return { child, hal0: gpuClient(url) }
}

/** A request whose answer the daemon's death may take away. */
const unheard = (request: Promise<Response>) => void request.then((answer) => answer.text()).catch(() => undefined)

/** The mode in which this daemon began. It may have gone on with a switch meanwhile. */
async function modeAtStart(hal0: GpuClient): Promise<unknown> {
  const { mode } = await hal0.status()
  const events = await hal0.events()
  // A switch that goes on may be over by now, and be told a moment after it counts.
  const resumed = events.find(({ type }) => type === 'arbiter.resumed')
  const switched = events.find(({ type }) => type === 'arbiter.switched')
  return resumed?.data['to'] ?? switched?.data['from'] ?? mode
}

/** What a step of a switch is, and what the next daemon makes of it. */
interface Step {
  readonly mode: 'llm' | 'img'
  /** The engine of the language slot is the same process afterwards. */
  readonly isKept: boolean
  /** Brings the daemon into the step; resolves when it is in it. */
  reach(world: World): Promise<void>
  /** What held it there lets go, before the next daemon is up, */
  beforeNext?(comfy: ComfyControl): Promise<void>
  /** or after that. */
  letGo?(world: World): Promise<void>
}

interface World {
  readonly at: TestHome
  readonly hal0: GpuClient
  /** Of the ComfyUI that ran at the beginning; it outlives the daemons. */
  readonly comfy: ComfyControl
}

const engineOf = async (hal0: GpuClient) => fakeControl(`http://127.0.0.1:${(await hal0.row('a')).port}`)
const toImages = async (hal0: GpuClient) => expect((await hal0.switchover('img')).status).toBe(200)

const STEPS: Readonly<Record<string, Step>> = {
  'while requests for language models end': {
    mode: 'llm',
    isKept: true,
    async reach({ hal0 }) {
      unheard(hal0.chat('a', { stream: true, fake: { stall_first_ms: -1 } }))
      await (await engineOf(hal0)).waitFor('active', 1)
      unheard(hal0.switchover('img'))
      await eventually(async () => (await hal0.status()).switching_to === 'img')
    },
  },
  'while a language model is being unloaded': {
    // It is ended, so the memory is free for images already.
    mode: 'img',
    isKept: false,
    async reach({ at, hal0 }) {
      await (await engineOf(hal0)).setKnobs({ slow_stop_ms: 60_000 })
      unheard(hal0.switchover('img'))
      await eventually(async () => (await readFile(slotStatePath(at.home, 'a'), 'utf8')).includes('"unloading"'))
    },
  },
  'while the image slot loads': {
    mode: 'img',
    isKept: false,
    async reach({ at, hal0 }) {
      // The one of the beginning goes: this switch has to load one.
      expect((await hal0.call('POST', '/api/slots/img/unload')).status).toBe(200)
      // Until it listens another test may take one of hal0's own ports.
      await writeSlotFile(at, 'img', imageSlot({ listen_delay_ms: 3_000 }, { port: await freePort() }))
      unheard(hal0.switchover('img'))
      await eventually(async () => (await hal0.row('img')).pid !== null)
    },
  },
  'while an image is painted': {
    mode: 'img',
    isKept: false,
    async reach({ hal0, comfy }) {
      await toImages(hal0)
      await comfy.setKnobs({ hold_render: true })
      unheard(hal0.paint())
      await comfy.waitFor('running', 1)
    },
    async letGo({ hal0, comfy }) {
      // The next daemon does not cut what this one began.
      await eventually(async () => (await hal0.status()).queue?.running === 1)
      expect(await hal0.status()).toMatchObject({ mode: 'img', saved_slots: ['a'] })
      await comfy.setKnobs({ hold_render: false })
    },
  },
  'while the memory of images is freed': {
    mode: 'img',
    isKept: false,
    async reach({ hal0, comfy }) {
      await toImages(hal0)
      expect((await hal0.paint()).status).toBe(200)
      await comfy.setKnobs({ hang: '/free' })
      unheard(hal0.switchover('llm'))
      await eventually(async () => (await hal0.status()).switching_to === 'llm')
    },
    // A `/free` of the next daemon that hangs as well would cost ComfyUI its life: it keeps its memory, and nothing renders.
    beforeNext: (comfy) => comfy.setKnobs({ hang: null }),
  },
  'while the language models come back': {
    mode: 'llm',
    isKept: false,
    async reach({ at, hal0 }) {
      await toImages(hal0)
      expect((await hal0.paint()).status).toBe(200)
      await writeSlotFile(at, 'a', llmSlot({ load_ms: 3_000 }))
      unheard(hal0.switchover('llm'))
      await eventually(async () => (await hal0.row('a')).state === 'warming')
    },
  },
}

it.each(Object.entries(STEPS))('kill -9 %s: the next daemon knows what to do', async (_name, step) => {
  const at = await makeGpuHome({ a: llmSlot(), img: imageSlot() })
  const first = await serve(at)
  expect((await first.hal0.call('POST', '/api/slots/img/load')).status).toBe(503)
  // Images first, so that ComfyUI is resident, and its pid is known.
  await toImages(first.hal0)
  const comfy = await first.hal0.comfy()
  expect((await first.hal0.switchover('llm')).status).toBe(200)
  expect((await first.hal0.chat('a')).status).toBe(200)
  const { pid } = await first.hal0.row('a')
  await step.reach({ at, hal0: first.hal0, comfy })
  const before = await first.hal0.events()
  first.child.process.kill('SIGKILL')
  await first.child.ended
  await step.beforeNext?.(comfy)

  const { hal0 } = await serve(at)
  expect(await modeAtStart(hal0)).toBe(step.mode)
  await step.letGo?.({ at, hal0, comfy })
  // A person may always have the other mode, and gets it without a word about the past.
  await eventually(async () => (await hal0.switchover('llm')).status === 200)
  expect((await hal0.chat('a')).status).toBe(200)
  const row = await hal0.row('a')
  expect(row.pid === pid).toBe(step.isKept)
  expect(await hal0.status()).toMatchObject({ mode: 'llm', pinned: false, saved_slots: [], switching_to: null })
  expect(await at.enginePids()).toHaveLength(2)

  await toImages(hal0)
  expect((await hal0.paint()).status).toBe(200)
  const state = await (await hal0.comfy()).state()
  expect(state.counters).toMatchObject({ interrupts: 0, renders: state.counters.prompts })
  expect(state.memory_log.filter(({ holds, renders }) => !holds && renders)).toEqual([])
  const events = [...before.filter(({ type }) => type === 'slot.state'), ...(await hal0.events())]
  // An engine that a daemon's death orphaned has memory until the next one says so.
  expect(overlaps(slotSpans('a', events), comfySpans(state.memory_log))).toEqual([])
})
