import { createEmbeddedRunner } from '../../src/runners/embedded.ts'
import { createLlamaCppRunner } from '../../src/runners/llama-cpp.ts'
import type { Runner } from '../../src/runners/runner.ts'
import { FAKE_ENGINE } from '../support/start-fake.ts'
import { describeContract, runnerContract } from './runner.ts'
import { spawnEngine, untilHealthy } from './runner-engines.ts'

const fake: Runner = {
  ...createLlamaCppRunner({ key: 'fake', title: 'fake engine', env: {} }),
  findCommand: async () => [process.execPath, FAKE_ENGINE],
}
describeContract('fake engine', fake)
runnerContract('fake engine', async () => untilHealthy(await spawnEngine(fake)))

const embedded = createEmbeddedRunner()
describeContract('embedded', embedded)
runnerContract('embedded', async () => untilHealthy(await spawnEngine(embedded)))

const llamaServer = process.env['HAL0_TEST_LLAMA_SERVER']
const skip = llamaServer === undefined
if (skip) console.log('skipped: llama-server needs HAL0_TEST_LLAMA_SERVER=/path/to/llama-server')
const real = createLlamaCppRunner({
  key: 'cpu',
  title: 'llama-server',
  binary: llamaServer ?? '/nowhere/llama-server',
  env: process.env,
})
describeContract('llama-server', real, { skip })
runnerContract('llama-server', async () => untilHealthy(await spawnEngine(real)), { skip })
