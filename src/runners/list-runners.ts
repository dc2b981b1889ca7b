import type { RunnerRow } from '../contract/runner.ts'
import { messageOf } from '../kernel/errors.ts'
import type { RunnerRegistry } from './registry.ts'
import type { Runner } from './runner.ts'

/** Every runner, found on this machine or not, with what its program says about itself. Never rejects. Source: SPEC 18 `runner list`. */
export function listRunners(registry: RunnerRegistry): Promise<readonly RunnerRow[]> {
  return Promise.all(registry.all().map(describeRunner))
}

async function describeRunner(runner: Runner): Promise<RunnerRow> {
  const row = {
    key: runner.key,
    title: runner.title,
    dialect: runner.dialect,
    types: [...runner.types],
    routes: [...runner.routes],
    has_keys: runner.keyEnv !== undefined,
  }
  try {
    const command = await runner.findCommand()
    const { version, abilities } = await runner.describe(command)
    return { ...row, command: [...command], version: version ?? null, abilities, problem: null }
  } catch (cause) {
    return { ...row, command: null, version: null, abilities: null, problem: messageOf(cause) }
  }
}
