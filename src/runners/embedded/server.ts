/**
 * The embedded engine: a program of its own that runs one model with llama.cpp and speaks llama-server's dialect on a loopback
 * port. Started by hal0 as a slot's process; its exit is the slot's unload. Source: SPEC 10.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { messageOf } from '../../kernel/errors.ts'
import { endProcess } from './ending.ts'
import { createEngine, type Engine } from './engine.ts'
import { describeLoadFailure } from './load-failure.ts'
import { createRouter } from './router.ts'
import { helpText } from './rules/flags.ts'
import { type EngineOptions, parseArgs } from './rules/parse-args.ts'
import { versionLine } from './version-line.ts'

/** Carries the engine key. */
const KEY_ENV = 'HAL0_EMBEDDED_API_KEY'
/** The gateway gives up idle connections sooner, so that it never sends on one this end is closing. */
const KEEP_ALIVE_MS = 60_000

const say = (line: string): void => void process.stdout.write(`hal0 embedded engine: ${line}\n`)

function fail(line: string): never {
  process.stderr.write(`error: ${line}\n`)
  process.exit(1)
}

function listen(server: Server, options: EngineOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: options.host, port: options.port }, () => {
      server.off('error', reject)
      resolve((server.address() as AddressInfo).port)
    })
  })
}

async function load(options: EngineOptions): Promise<Engine> {
  const nativeErrors: string[] = []
  try {
    // Loaded late: importing the library takes a moment, and /health should answer before.
    const { createNativeLog } = await import('./native-log.ts')
    const { loadModel } = await import('./load-model.ts')
    const log = createNativeLog(process.stderr, nativeErrors)
    return createEngine(options, await loadModel(options, log))
  } catch (thrown) {
    // llama.cpp's own words arrive through the event loop.
    await nextTurn()
    return fail(describeLoadFailure(thrown, options.modelPath, nativeErrors))
  }
}

async function main(): Promise<void> {
  const parsed = parseArgs(process.argv.slice(2))
  if (!parsed.ok) return fail(parsed.error)
  if (parsed.value === 'help') return void process.stdout.write(helpText())
  if (parsed.value === 'version') return void process.stdout.write(`${versionLine()}\n`)
  const options = parsed.value

  const state: { engine?: Engine; loading: boolean; requests: number } = { loading: false, requests: 0 }
  const handle = createRouter({ engine: () => state.engine, apiKey: process.env[KEY_ENV] || undefined })
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 }, (request, response) => {
    state.requests++
    void handle(request, response).finally(() => state.requests--)
  })
  let ending = false
  const end = (): void => {
    // Asked again (a process group and its leader may both be told): the first time counts.
    if (ending) return
    ending = true
    endProcess({ server, isBusy: () => state.loading || state.requests > 0 })
  }
  // Not `once`: a package that watches signals too kills the process when it finds itself the only listener.
  process.on('SIGTERM', end).on('SIGINT', end)
  try {
    const port = await listen(server, options)
    say(`listening on http://${options.host}:${port}`)
  } catch (error) {
    return fail(`cannot listen on ${options.host}:${options.port}: ${messageOf(error)}`)
  }
  state.loading = true
  const engine = await load(options)
  state.loading = false
  state.engine = engine
  const { loaded } = engine
  say(
    `model loaded: ${loaded.windowTokens} tokens for each of ${loaded.parallel} requests, ${loaded.threads} thread${loaded.threads === 1 ? '' : 's'}`,
  )
}

await main()
