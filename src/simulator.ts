import type { ConfigMistake } from './config/toml/mistake.ts'
import { ok, type Result } from './kernel/result.ts'
import { playScenario } from './lanes/simulate/play-scenario.ts'
import { readScenario } from './lanes/simulate/read-scenario.ts'
import type { SimulationReport } from './lanes/simulate/simulation.ts'
import { simulationLines } from './lanes/simulate/simulation-text.ts'

/** A simulated day, as data and for people. */
export interface Simulated {
  readonly report: SimulationReport
  readonly lines: () => readonly string[]
}

/** Plays the scenario of a file by the rules of this hal0; needs no daemon and touches nothing. Err: every mistake of the file. Source: SPEC 18 `lane simulate`. */
export async function simulate(path: string): Promise<Result<Simulated, readonly ConfigMistake[]>> {
  const scenario = await readScenario(path)
  if (!scenario.ok) return scenario
  const report = await playScenario(scenario.value)
  return ok({ report, lines: () => simulationLines(report) })
}
