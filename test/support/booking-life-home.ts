import { chmod, cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'smol-toml'
import { type Home, homeAt } from '../../src/files/home.ts'
import { HELLO_GGUF } from './daemon-harness.ts'
import { FAKE_ENGINE, type FakeKnobs } from './start-fake.ts'

/** The models of the home; `hello` is what the lane runs by itself. */
export type ModelName = 'hello' | 'twin' | 'third'
export const MODELS: readonly ModelName[] = ['hello', 'twin', 'third']
/** The one lane of the home. */
export const LANE = 'desk'

export interface LifeOptions {
  /** What the lane runs by itself; null = nothing. Default: hello. */
  readonly runsByItself?: ModelName | null
  /** Over the keys of the lane's file. */
  readonly lane?: Readonly<Record<string, unknown>>
  readonly scheduler?: Readonly<Record<string, number>>
  /** Of the daemons. */
  readonly env?: Readonly<Record<string, string>>
  /** Further tables of hal0.toml. */
  readonly settings?: Readonly<Record<string, object>>
  readonly knobs?: Partial<Record<ModelName, FakeKnobs>>
}

/** One engine's program for all models: which knobs it begins with is in a file of its model's. */
function engineScript(folder: string): string {
  const cases = MODELS.map((model) => `*/${model}.gguf*) FAKE_KNOBS=$(cat "${folder}/knobs/${model}.json");;`)
  return `#!/bin/sh\ncase "$*" in\n${cases.join('\n')}\n*) FAKE_KNOBS='{}';;\nesac\nexport FAKE_KNOBS\nexec "${FAKE_ENGINE}" "$@"\n`
}

/** Writes the files of a home: settings, models, the lane. `folder` is there and empty. */
export async function furnish(folder: string, hookUrl: string, options: LifeOptions): Promise<Home> {
  const { lane = {}, scheduler = {}, runsByItself = 'hello' } = options
  const home = homeAt(folder)
  await Promise.all(['knobs', 'models'].map((name) => mkdir(join(folder, name))))
  for (const name of ['lanes', 'slots']) await mkdir(join(home.etc, name), { recursive: true })
  for (const model of MODELS) await cp(HELLO_GGUF, join(folder, 'models', `${model}.gguf`))
  const engine = join(folder, 'engine.sh')
  await writeFile(engine, engineScript(folder))
  await chmod(engine, 0o755)
  const low = 11_000 + Math.floor(Math.random() * 950) * 20
  const settings = {
    slots: { port_range: [low, low + 19], stop_grace_s: 3 },
    scheduler: { tick_seconds: 1, buffer_seconds: 1, drain_seconds: 2, stop_timeout_seconds: 5, ...scheduler },
    notify: { webhook: { url: hookUrl } },
    runners: { cpu: { binary: engine } },
    ...options.settings,
  }
  await writeFile(join(home.etc, 'hal0.toml'), stringify(settings))
  const paths = MODELS.map((model) => [model, { path: join(folder, 'models', `${model}.gguf`) }] as const)
  await writeFile(join(home.etc, 'models.toml'), stringify({ models: Object.fromEntries(paths) }))
  const file = {
    ...{ device: 'cpu', runner: 'cpu', min_preload_s: 2, allow_exclusive: true },
    ...(runsByItself === null ? {} : { default: { model: runsByItself, profile: 'chat' } }),
    limits: { min_minutes: 0, max_open_per_user: 20 },
    ...lane,
  }
  await writeFile(join(home.etc, 'lanes', `${LANE}.toml`), stringify(file))
  return home
}
