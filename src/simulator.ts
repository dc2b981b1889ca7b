import { configError } from './config/toml/mistake.ts'
import { playScenario } from './lanes/simulate/play-scenario.ts'
import { readScenario } from './lanes/simulate/read-scenario.ts'
import type { SimulationReport } from './lanes/simulate/simulation.ts'
import { simulationLines } from './lanes/simulate/simulation-text.ts'

/** A simulated day, as data and for people. */
export interface Simulated {
  readonly report: SimulationReport
  readonly lines: () => readonly string[]
}

/** Plays the scenario of a file by the rules of this hal0; needs no daemon and touches nothing. Errors: `config.invalid` with every mistake. Source: SPEC 18 `lane simulate`. */
export async function simulate(path: string): Promise<Simulated> {
  const scenario = await readScenario(path)
  if (!scenario.ok) throw configError(scenario.error)
  const report = await playScenario(scenario.value)
  return { report, lines: () => simulationLines(report) }
}
