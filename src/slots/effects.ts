import type { SlotFailure } from '../contract/slot-state.ts'
import { type Home, slotLogPath } from '../files/home.ts'
import type { RunnerRegistry } from '../runners/registry.ts'
import type { ProbeSpec } from '../runners/runner.ts'
import type { ExitFacts } from '../runtimes/runtime.ts'
import { drawEngineKey } from './engine-key.ts'
import { type Examination, examineSlot } from './examine-slot.ts'
import { type EndedDuring, explainExit } from './explain-exit.ts'
import type { PortPool } from './port-pool.ts'
import { type Binding, prepareLaunch } from './prepare-launch.ts'
import { createProber, type Prober } from './probe.ts'
import { type Override, readBinding, type SlotBinding } from './read-binding.ts'
import type { StartedEngine } from './started-engine.ts'

/** What an actor needs of the world besides time and processes; tests replace it whole. */
export interface SlotEffects {
  /** Errors: as `readBinding`. */
  readBinding(slot: string, override: Override | undefined): Promise<SlotBinding>
  /** Errors: as `prepareLaunch`. */
  prepare(bound: SlotBinding, previousPort: number | null, signal: AbortSignal): Promise<Binding>
  /** Never rejects. */
  examine(slot: string, override: Override | undefined, running: StartedEngine | undefined): Promise<Examination>
  drawKey(slot: string): Promise<string>
  openProber(origin: string, spec: ProbeSpec, engineKey: string | undefined): Prober
  logPath(slot: string): string
  /** Never rejects. */
  explain(engine: StartedEngine, facts: ExitFacts, during: EndedDuring): Promise<SlotFailure>
}

export function createSlotEffects(home: Home, runners: RunnerRegistry, ports: PortPool): SlotEffects {
  const sources = { home, runners, ports }
  return {
    readBinding: (slot, override) => readBinding(home, slot, override),
    prepare: (bound, previousPort, signal) => prepareLaunch(sources, bound, previousPort, signal),
    examine: (slot, override, running) => examineSlot(sources, slot, override, running),
    drawKey: (slot) => drawEngineKey(home, slot),
    openProber: createProber,
    logPath: (slot) => slotLogPath(home, slot),
    explain: explainExit,
  }
}
