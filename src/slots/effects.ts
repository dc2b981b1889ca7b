import type { SlotConfig } from '../config/slot-file.ts'
import type { SlotFailure } from '../contract/slot-state.ts'
import { type Home, slotLogPath } from '../files/home.ts'
import type { RunnerRegistry } from '../runners/registry.ts'
import type { ProbeSpec } from '../runners/runner.ts'
import type { ExitFacts } from '../runtimes/runtime.ts'
import { drawEngineKey } from './engine-key.ts'
import { type EndedDuring, explainExit } from './explain-exit.ts'
import type { PortPool } from './port-pool.ts'
import { type Binding, isLaunchChanged, prepareLaunch, readSlotConfig } from './prepare-launch.ts'
import { createProber, type Prober } from './probe.ts'
import type { StartedEngine } from './started-engine.ts'

/** What an actor needs of the world besides time and processes; tests replace it whole. */
export interface SlotEffects {
  /** Errors: as `readSlotConfig`. */
  readConfig(slot: string): Promise<SlotConfig>
  /** Errors: as `prepareLaunch`. */
  prepare(config: SlotConfig, previousPort: number | null, signal: AbortSignal): Promise<Binding>
  /** Errors: as `isLaunchChanged`. */
  isChanged(running: Binding): Promise<boolean>
  drawKey(slot: string): Promise<string>
  openProber(origin: string, spec: ProbeSpec, engineKey: string | undefined): Prober
  logPath(slot: string): string
  /** Never rejects. */
  explain(engine: StartedEngine, facts: ExitFacts, during: EndedDuring): Promise<SlotFailure>
}

export function createSlotEffects(home: Home, runners: RunnerRegistry, ports: PortPool): SlotEffects {
  const sources = { home, runners, ports }
  return {
    readConfig: (slot) => readSlotConfig(home, slot),
    prepare: (config, previousPort, signal) => prepareLaunch(sources, config, previousPort, signal),
    isChanged: (running) => isLaunchChanged(sources, running),
    drawKey: (slot) => drawEngineKey(home, slot),
    openProber: createProber,
    logPath: (slot) => slotLogPath(home, slot),
    explain: explainExit,
  }
}
