import { afterEach } from 'vitest'
import { type FakeEngine, type StartFakeOptions, startFakeEngine } from '../support/start-fake.ts'

let engines: FakeEngine[] = []
afterEach(async () => {
  await Promise.all(engines.map((engine) => engine.stop()))
  engines = []
})

/** A fake engine that ends with the test. */
export async function start(options: StartFakeOptions = {}): Promise<FakeEngine> {
  const engine = await startFakeEngine(options)
  engines.push(engine)
  return engine
}
