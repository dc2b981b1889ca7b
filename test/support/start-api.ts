import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createOpenGuard, type Guard, type OpenDoor } from '../../src/access/guard.ts'
import { type ApiOptions, buildApp, createApi } from '../../src/api/api.ts'
import type { RouteExplanation } from '../../src/contract/route-explanation.ts'
import type { EventBus } from '../../src/events/bus.ts'
import { createEventBus } from '../../src/events/memory-bus.ts'
import { type Clock, systemClock } from '../../src/kernel/clock.ts'
import { type Log, silentLog } from '../../src/kernel/log.ts'
import { type StubPorts, stubPorts } from './stub-ports.ts'
import { type StubSlots, stubRow, stubSlots } from './stub-slots-api.ts'

/** What `GET /api/dispatch/explain` answers, but for what was asked. */
export const EXPLANATION: Omit<RouteExplanation, 'model' | 'path'> = {
  route: { engine_path: '/v1/chat/completions', needs: 'llm', dialect: 'openai' },
  decision: 'slot',
  slot: 'agent',
  reason: '1 slot name',
  steps: [{ n: 1, text: 'slot name', outcome: 'chosen' }],
  candidates: [],
  would_load: false,
  error: null,
}

export interface TestApi {
  readonly url: string
  readonly port: number
  readonly slots: StubSlots
  readonly ports: StubPorts
  readonly bus: EventBus
  readonly logFolder: string
  /** Lines that the API logged as error: `[facts, message]`. */
  readonly errors: [object, string][]
  /** The same for its ordinary lines. */
  readonly infos: [object, string][]
  readonly warnings: [object, string][]
  /** Every route that the router knows, as `GET /api/slots/:name`, and those of the gate and the like as `ALL /*`. */
  readonly routes: readonly string[]
  /** What the daemon does at shutdown, as far as the API sees it. */
  close(): void
  stop(): Promise<void>
}

/** A real server on a free loopback port: the management API over stub slots `agent` (ready) and `coder` (offline). */
export async function startApi(
  options: {
    readonly clock?: Clock
    readonly keep?: number
    /** Absent = nobody is defined, so this machine is let in. */
    readonly guard?: Guard
    readonly openDoor?: OpenDoor
  } = {},
): Promise<TestApi> {
  const clock = options.clock ?? systemClock
  const logFolder = await mkdtemp(join(tmpdir(), 'hal0-api-'))
  const rows = [stubRow('coder', { state: 'offline', pid: null, queued: 1 }), stubRow('agent', { in_flight: 2 })]
  const slots = stubSlots(logFolder, rows)
  const ports = stubPorts((name) => slots.row(name) ?? stubRow(name, { state: 'offline', pid: null }))
  const bus = createEventBus({ clock, firstId: 1, keep: options.keep ?? 1_000 })
  const closing = new AbortController()
  const errors: [object, string][] = []
  const infos: [object, string][] = []
  const warnings: [object, string][] = []
  const log: Log = {
    ...silentLog,
    error: (facts, message) => errors.push([facts, message]),
    info: (facts, message) => infos.push([facts, message]),
    warn: (facts, message) => warnings.push([facts, message]),
    child: () => log,
  }
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const startedAt = new Date(clock.nowMs()).toISOString()
  const guard = options.guard ?? createOpenGuard({ allowedHosts: () => [] })
  const apiOptions: ApiOptions = {
    publicUrl: () => 'https://hal0.example.org',
    slots,
    ports,
    bus,
    clock,
    log,
    daemon: () => ({ version: '1.2.3', url, home: '/tmp/home', pid: process.pid, started_at: startedAt }),
    guard,
    openDoor: options.openDoor ?? guard,
    closing: closing.signal,
    explainRoute: ({ model, path }) => ({ ...EXPLANATION, model, path }),
  }
  server.on('request', createApi(apiOptions))
  return {
    url,
    port,
    slots,
    ports,
    bus,
    logFolder,
    errors,
    infos,
    warnings,
    routes: buildApp(apiOptions).routes.map(({ method, path }) => `${method} ${path}`),
    close: () => closing.abort(),
    async stop() {
      closing.abort()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await rm(logFolder, { recursive: true })
    },
  }
}
