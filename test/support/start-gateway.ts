import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Guard } from '../../src/access/guard.ts'
import { daemonSettingsSchema } from '../../src/config/settings/daemon-settings.ts'
import type { NewEvent } from '../../src/contract/events.ts'
import { createGateway, type Gateway, type GatewayDeps } from '../../src/gateway/gateway.ts'
import { requestFacts } from '../../src/gateway/rules/request-facts.ts'
import { type GatewaySettings, gatewaySettingsOf } from '../../src/gateway/settings.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import type { Log } from '../../src/kernel/log.ts'
import { ok } from '../../src/kernel/result.ts'
import type { Slots } from '../../src/slots/slots.ts'

export interface TestGateway {
  readonly origin: string
  readonly port: number
  readonly gateway: Gateway
  /** Every line that was logged, at any level. */
  readonly lines: { readonly message: string; readonly facts: Readonly<Record<string, unknown>> }[]
  readonly events: NewEvent[]
  /** Resolves with the log line of the n-th request that ended (from 1). */
  requestLine(n: number): Promise<Readonly<Record<string, unknown>>>
  stop(): Promise<void>
}

export type MoreDeps = Partial<
  Pick<
    GatewayDeps,
    'registeredModels' | 'onDemand' | 'arbiter' | 'imageDefaults' | 'runnersFor' | 'lanes' | 'isOpenMode' | 'clock'
  >
>

/** The gateway alone behind a plain HTTP server on a free loopback port. */
export async function startGateway(
  slots: Slots,
  settings: Partial<GatewaySettings> = {},
  guard: Guard = () => ok({ kind: 'local_admin' }),
  more: MoreDeps = {},
): Promise<TestGateway> {
  const lines: TestGateway['lines'] = []
  const events: NewEvent[] = []
  const watchers = new Set<() => void>()
  const write = (facts: object, message: string): void => {
    lines.push({ message, facts: { ...facts } })
    for (const check of [...watchers]) check()
  }
  const log: Log = { debug: write, info: write, warn: write, error: write, child: () => log }
  const gateway = createGateway({
    slots,
    guard,
    settings: { ...gatewaySettingsOf(daemonSettingsSchema.parse({})), ...settings },
    log,
    clock: systemClock,
    bus: { publish: (event) => void events.push(event) },
    registeredModels: () => new Set(),
    spillFolder: join(tmpdir(), `hal0-spill-${process.pid}`),
    onRecord: (record) => write(requestFacts(record, record.usage()), 'request'),
    onDemand: { ensure: () => Promise.reject(new Error('this gateway has no on-demand slot')) },
    ...more,
  })
  const server = createServer((req, res) => gateway.handle(req, res))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    gateway,
    lines,
    events,
    requestLine: (n) =>
      new Promise((resolve) => {
        const check = (): void => {
          const line = lines.filter((candidate) => candidate.message === 'request')[n - 1]
          if (line === undefined) return
          watchers.delete(check)
          resolve(line.facts)
        }
        watchers.add(check)
        check()
      }),
    async stop() {
      server.close()
      await gateway.close()
      server.closeAllConnections()
    },
  }
}
