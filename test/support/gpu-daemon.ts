import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'smol-toml'
import { onTestFinished } from 'vitest'
import type { ModeTiming } from '../../src/arbiter/rules/timing.ts'
import type { ArbiterStatus } from '../../src/contract/arbiter.ts'
import type { Hal0Event } from '../../src/contract/events.ts'
import type { SlotRow } from '../../src/contract/slot-row.ts'
import { type Daemon, startDaemon } from '../../src/daemon.ts'
import { makeHome, type TestHome } from './daemon-harness.ts'
import { FAKE_ENGINE, type FakeKnobs } from './start-fake.ts'
import { type ComfyControl, type ComfyKnobs, comfyControl, FAKE_COMFY } from './start-fake-comfy.ts'

export const FAKE_FLM = fileURLToPath(new URL('../fake-flm/fake-flm.mjs', import.meta.url))

/** What of a slot's file a test says itself. */
export type SlotKeys = Readonly<Record<string, unknown>>

/** A language slot on the GPU: the fake engine. */
export const llmSlot = (knobs: FakeKnobs = {}, more: SlotKeys = {}): SlotKeys => ({
  type: 'llm',
  device: 'gpu-cuda',
  binary: 'cuda',
  model: { default: 'hello' },
  server: { env: { FAKE_KNOBS: JSON.stringify(knobs) } },
  ...more,
})

/** An image slot on the GPU: the fake ComfyUI. */
export const imageSlot = (knobs: ComfyKnobs = {}, more: SlotKeys = {}): SlotKeys => ({
  type: 'image',
  device: 'gpu-cuda',
  binary: 'comfyui',
  model: { default: 'fake-xl.safetensors' },
  server: { env: { COMFY_KNOBS: JSON.stringify(knobs) } },
  ...more,
})

/** A language slot on the CPU: the fake engine. */
export const cpuSlot: SlotKeys = { type: 'llm', device: 'cpu', binary: 'cpu', model: { default: 'hello' } }

/** The language slot of the NPU: the fake FastFlowLM. `npu`: `[npu]`. */
export const npuSlot = (npu: SlotKeys = {}, tag = 'llama3.2:1b'): SlotKeys => ({
  type: 'llm',
  device: 'npu',
  binary: 'flm',
  model: { default: tag },
  npu,
})

export async function writeSlotFile(at: TestHome, name: string, keys: SlotKeys): Promise<void> {
  await writeFile(join(at.home.etc, 'slots', `${name}.toml`), stringify({ name, autoload: false, ...keys }))
}

/** A home whose runners are all fakes. `settings`: tables of hal0.toml besides `[runners]`. */
export async function makeGpuHome(
  slots: Readonly<Record<string, SlotKeys>>,
  settings: Readonly<Record<string, object>> = {},
): Promise<TestHome> {
  const at = await makeHome(
    {},
    {
      ...settings,
      runners: {
        cuda: { binary: FAKE_ENGINE },
        comfyui: { template: [FAKE_COMFY, '--listen', '${HOST}', '--port', '${PORT}'] },
        flm: { binary: FAKE_FLM },
      },
    },
  )
  for (const [name, keys] of Object.entries(slots)) await writeSlotFile(at, name, keys)
  return at
}

/** What tests ask of a daemon, wherever it runs. */
export interface GpuClient {
  readonly url: string
  rows(): Promise<readonly SlotRow[]>
  row(slot: string): Promise<SlotRow>
  status(): Promise<ArbiterStatus>
  events(): Promise<readonly Hal0Event[]>
  /** Any API call; the answer as it is. */
  call(method: string, path: string, body?: unknown): Promise<Response>
  switchover(mode: 'llm' | 'img', more?: object): Promise<Response>
  pin(pinned: boolean): Promise<Response>
  chat(model: string, body?: Readonly<Record<string, unknown>>, init?: RequestInit): Promise<Response>
  paint(body?: Readonly<Record<string, unknown>>, init?: RequestInit): Promise<Response>
  /** The control routes of the ComfyUI that runs as this slot. */
  comfy(slot?: string): Promise<ComfyControl>
}

export function gpuClient(url: string): GpuClient {
  const call = (method: string, path: string, body?: unknown, init: RequestInit = {}) =>
    fetch(`${url}${path}`, {
      method,
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      ...init,
    })
  const read = async <T>(path: string): Promise<T> => (await call('GET', path)).json() as Promise<T>
  const row = (slot: string) => read<SlotRow>(`/api/slots/${slot}`)
  return {
    url,
    call,
    row,
    rows: async () => (await read<{ slots: SlotRow[] }>('/api/slots')).slots,
    status: () => read('/api/comfyui/status'),
    events: async () => (await read<{ events: Hal0Event[] }>('/api/events?limit=1000')).events,
    switchover: (mode, more = {}) => call('POST', '/api/comfyui/switchover', { mode, ...more }),
    pin: (pinned) => call('POST', '/api/comfyui/pin', { pinned }),
    chat: (model, body = {}, init = {}) =>
      call(
        'POST',
        '/v1/chat/completions',
        { model, messages: [{ role: 'user', content: 'hi' }], max_tokens: 8, ...body },
        init,
      ),
    paint: (body = {}, init = {}) =>
      call('POST', '/v1/images/generations', { model: 'img', prompt: 'a fox', size: '64x64', ...body }, init),
    comfy: async (slot = 'img') => {
      const { port } = await row(slot)
      return comfyControl(`http://127.0.0.1:${port}`)
    },
  }
}

export interface GpuDaemon extends TestHome, GpuClient {
  readonly daemon: Daemon
  /** Every event so far, oldest first. */
  readonly seen: readonly Hal0Event[]
}

/** A real daemon in this process; when the test ends it is stopped, and nothing of it may be left. */
export async function startGpuDaemon(
  slots: Readonly<Record<string, SlotKeys>>,
  {
    settings = {},
    timing = { keepMs: 300, quietMs: 200 },
  }: { readonly settings?: Readonly<Record<string, object>>; readonly timing?: ModeTiming } = {},
): Promise<GpuDaemon> {
  const at = await makeGpuHome(slots, settings)
  const daemon = await startDaemon({ home: at.home, port: 0, arbiterTiming: timing })
  onTestFinished(() => daemon.stop({ drainMs: 0 }))
  const seen: Hal0Event[] = []
  daemon.bus.subscribe({ afterId: 0, onEvent: (event) => void seen.push(event) })
  return { ...at, ...gpuClient(daemon.url), daemon, seen }
}

/** From when to when, in epoch ms; `end` Infinity = still. */
export interface Span {
  readonly what: string
  readonly beginMs: number
  readonly endMs: number
}

/** When a slot had, or was about to have, memory: from `starting` or being found until it is offline or in error. */
export function slotSpans(slot: string, events: readonly Hal0Event[]): readonly Span[] {
  const spans: Span[] = []
  let beginMs: number | undefined
  for (const { type, ts, data } of events) {
    if (type !== 'slot.state' || data['slot'] !== slot) continue
    const isOut = ['offline', 'error', 'pulling'].includes(String(data['to']))
    if (!isOut) beginMs ??= Date.parse(ts)
    else if (beginMs !== undefined) {
      spans.push({ what: slot, beginMs, endMs: Date.parse(ts) })
      beginMs = undefined
    }
  }
  return beginMs === undefined ? spans : [...spans, { what: slot, beginMs, endMs: Number.POSITIVE_INFINITY }]
}

/** When ComfyUI had diffusion models in memory. */
export function comfySpans(log: readonly { readonly at_ms: number; readonly holds: boolean }[]): readonly Span[] {
  return log.flatMap(({ at_ms: beginMs, holds }, at) =>
    holds ? [{ what: 'comfy', beginMs, endMs: log[at + 1]?.at_ms ?? Number.POSITIVE_INFINITY }] : [],
  )
}

/** Pairs that have memory at one moment; a shared edge is none. */
export function overlaps(some: readonly Span[], others: readonly Span[]): readonly string[] {
  return some.flatMap((a) =>
    others
      .filter((b) => a.beginMs < b.endMs && b.beginMs < a.endMs)
      .map((b) => `${a.what} ${a.beginMs}–${a.endMs} with ${b.what} ${b.beginMs}–${b.endMs}`),
  )
}
