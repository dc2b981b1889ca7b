import { onTestFinished } from 'vitest'
import type { Guard } from '../../src/access/guard.ts'
import type { SlotRow } from '../../src/contract/slot-row.ts'
import type { GatewaySettings } from '../../src/gateway/settings.ts'
import type { EngineEndpoint } from '../../src/slots/slots.ts'
import { type FakeEngine, type FakeKnobs, startFakeEngine } from './start-fake.ts'
import { type MoreDeps, startGateway, type TestGateway } from './start-gateway.ts'
import { agentEndpoint, createStubSlots, type StubSlots } from './stub-slots.ts'

export interface GatewayWorldOptions {
  readonly settings?: Partial<GatewaySettings>
  readonly endpoint?: Partial<EngineEndpoint>
  readonly row?: Partial<SlotRow>
  /** Places at the engine; absent = no limit. */
  readonly parallel?: number
  readonly guard?: Guard
  readonly more?: MoreDeps
}

/** The gateway in front of one engine: slot `agent`, also called `helper`, with the model `hello`. */
export interface GatewayWorld {
  readonly origin: string
  readonly slots: StubSlots
  readonly gateway: TestGateway
}

/** Whatever listens at `origin` is the engine. When the test ends nothing may be left in flight. */
export async function startGatewayAt(
  engine: { readonly origin: string; readonly key?: string },
  options: GatewayWorldOptions = {},
): Promise<GatewayWorld> {
  const { settings, endpoint, row, parallel, guard, more } = options
  const slots = createStubSlots({
    agent: {
      endpoint: { ...agentEndpoint(engine), ...endpoint },
      row: { aliases: ['helper'], ...row },
      ...(parallel === undefined ? {} : { parallel }),
    },
  })
  const gateway = await startGateway(slots, settings, guard, more)
  onTestFinished(async () => {
    await gateway.stop()
    const left = [slots.leases().length, gateway.gateway.inFlight()]
    if (left.some((count) => count > 0)) throw new Error(`left over: ${left.join(' leases and requests: ')}`)
  })
  return { origin: gateway.origin, slots, gateway }
}

export interface FakeWorld extends GatewayWorld {
  readonly engine: FakeEngine
}

/** The same with a fake engine, which ends with the test. */
export async function startFakeWorld(knobs: FakeKnobs = {}, options: GatewayWorldOptions = {}): Promise<FakeWorld> {
  const engine = await startFakeEngine({ argv: ['--alias', 'agent', '--parallel', '64'], knobs })
  onTestFinished(() => engine.stop())
  return { engine, ...(await startGatewayAt(engine, options)) }
}
