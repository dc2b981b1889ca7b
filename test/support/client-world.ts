import { readFile } from 'node:fs/promises'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { onTestFinished } from 'vitest'
import { type Daemon, startDaemon } from '../../src/daemon.ts'
import { engineKeyPath } from '../../src/files/home.ts'
import { eventually, makeHome, type TestHome } from './daemon-harness.ts'
import { type SlotKeys, writeSlotFile } from './gpu-daemon.ts'
import { FAKE_ENGINE, type FakeControl, type FakeKnobs, fakeControl, startFakeEngine } from './start-fake.ts'

/** Whom the official clients talk to. */
export interface Target {
  /** Without `/v1`. */
  readonly origin: string
  readonly key: string
  /** Loads the slot, and gives the control routes of its fake engine. */
  engine(slot: string): Promise<FakeControl>
}

/** Retries are the test's business. The dummy key of a hal0 without users is never sent on to an engine. */
export function openaiOf({ origin, key }: Pick<Target, 'origin' | 'key'>, more: { maxRetries?: number } = {}): OpenAI {
  return new OpenAI({ baseURL: `${origin}/v1`, apiKey: key, maxRetries: 0, ...more })
}

export function anthropicOf(
  { origin, key }: Pick<Target, 'origin' | 'key'>,
  more: { maxRetries?: number } = {},
): Anthropic {
  return new Anthropic({ baseURL: origin, apiKey: key, maxRetries: 0, ...more })
}

/** A fake engine alone: what a test passes against here must hold through hal0 too. It ends with the test. */
export async function startEngineAlone(knobs: FakeKnobs = {}): Promise<Target> {
  const engine = await startFakeEngine({ knobs })
  onTestFinished(() => engine.stop())
  return { origin: engine.origin, key: engine.key, engine: () => Promise.resolve(engine) }
}

const withKnobs = (knobs: FakeKnobs, keys: SlotKeys): SlotKeys => ({
  device: 'cpu',
  binary: 'cpu',
  model: { default: 'hello' },
  server: { env: { FAKE_KNOBS: JSON.stringify(knobs) } },
  ...keys,
})

/** A slot for each type of route; all engines are fake ones. `agent` = helper, `stt` = ears. */
export const slotsOfAllTypes = (knobs: FakeKnobs = {}): Readonly<Record<string, SlotKeys>> => ({
  agent: withKnobs(knobs, { type: 'llm', aliases: ['helper'] }),
  embed: withKnobs(knobs, { type: 'embedding' }),
  rank: withKnobs(knobs, { type: 'reranking', aliases: ['judge'] }),
  tts: withKnobs(knobs, { type: 'tts', binary: 'sound' }),
  stt: withKnobs(knobs, { type: 'transcription', binary: 'sound', aliases: ['ears'] }),
  paint: withKnobs(knobs, { type: 'image', binary: 'brush' }),
})

/** The fake engine as a runner of the user's own. */
const fakeRunner = (more: object) => ({
  template: [FAKE_ENGINE, '--host', '${HOST}', '--port', '${PORT}', '--model', '${MODEL}', '--alias', '${ALIAS}'],
  key_env: 'LLAMA_API_KEY',
  identity_path: '/props',
  ...more,
})

export interface ClientWorld extends Target, TestHome {
  readonly daemon: Daemon
  /** The key of a slot's engine, for a look past hal0. */
  engineKey(slot: string): Promise<string>
  /** No request is in a slot, none waits for one. */
  atRest(): Promise<void>
}

/** A real daemon in this process with fake engines; when the test ends it is stopped, and nothing of it may be left. */
export async function startClientWorld(
  slots: Readonly<Record<string, SlotKeys>> = slotsOfAllTypes(),
  settings: Readonly<Record<string, object>> = {},
): Promise<ClientWorld> {
  const { runners, ...others } = settings
  const own = {
    sound: fakeRunner({ types: ['tts', 'transcription'] }),
    brush: fakeRunner({ types: ['image'] }),
    ...runners,
  }
  const at = await makeHome({}, { ...others, runners: own })
  for (const [name, keys] of Object.entries(slots)) await writeSlotFile(at, name, keys)
  const daemon = await startDaemon({ home: at.home, port: 0 })
  onTestFinished(() => daemon.stop({ drainMs: 0 }))
  return {
    ...at,
    daemon,
    origin: daemon.url,
    key: 'unused',
    engine: async (slot) => fakeControl(`http://127.0.0.1:${(await daemon.slots.load(slot)).port}`),
    engineKey: (slot) => readFile(engineKeyPath(at.home, slot), 'utf8'),
    atRest: () => eventually(() => daemon.slots.rows().every((row) => row.in_flight === 0 && row.queued === 0)),
  }
}

/** What it threw; fails when it did not. */
export async function thrownBy(call: PromiseLike<unknown>): Promise<unknown> {
  try {
    await call
  } catch (error) {
    return error
  }
  throw new Error('expected an error, got an answer')
}
