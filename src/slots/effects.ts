import type { LaunchRecord } from '../contract/launch-record.ts'
import type { SlotFailure } from '../contract/slot-state.ts'
import { launchRecordPath, slotLogPath } from '../files/home.ts'
import type { Clock } from '../kernel/clock.ts'
import type { MemoryNeed } from '../launch/rules/memory-need.ts'
import type { RunnerRegistry } from '../runners/registry.ts'
import type { ProbeSpec } from '../runners/runner.ts'
import type { ExitFacts } from '../runtimes/runtime.ts'
import { createNeedEstimator } from './launch/estimate-need.ts'
import { type Examination, examineSlot } from './launch/examine-slot.ts'
import type { KeptWrites } from './launch/kept-writes.ts'
import { writeLaunchRecord } from './launch/launch-record.ts'
import { type Binding, prepareLaunch } from './launch/prepare-launch.ts'
import type { MissingFiles } from './launch/pull-missing.ts'
import { type Override, readBinding, type SlotBinding } from './launch/read-binding.ts'
import { askSanity } from './life/ask-sanity.ts'
import { createKeyDrawer } from './life/engine-key.ts'
import { type EndedDuring, explainExit } from './life/explain-exit.ts'
import { createLiveLook, type LiveLook } from './life/look-alive.ts'
import { createProber, type Prober } from './life/probe.ts'
import type { SanityAsk, SanityVerdict } from './life/sanity.ts'
import type { StartedEngine } from './life/started-engine.ts'
import type { PortPool } from './port-pool.ts'
import type { SourceDeps } from './slot-source.ts'

/** What an actor needs of the world besides time and processes; tests replace it whole. */
export interface SlotEffects {
  /** Errors: as `readBinding`. */
  readBinding(slot: string, override: Override | undefined): Promise<SlotBinding>
  /** Errors: as `prepareLaunch`. */
  prepare(bound: SlotBinding, previousPort: number | null, signal: AbortSignal): Promise<Binding>
  /** Never rejects. */
  examine(slot: string, override: Override | undefined, running: StartedEngine | undefined): Promise<Examination>
  /** Never rejects. */
  drawKey(slot: string): Promise<string>
  openProber(origin: string, spec: ProbeSpec, engineKey: string | undefined): Prober
  logPath(slot: string): string
  /** What has to be fetched before a start. */
  readonly missing: MissingFiles
  /** What a launch will take. Never rejects. */
  estimate(binding: Binding): Promise<MemoryNeed>
  /** Never rejects. */
  recordLaunch(record: LaunchRecord): Promise<void>
  /** Never rejects. */
  askSanity(ask: SanityAsk): Promise<SanityVerdict>
  openLiveLook(origin: string, spec: ProbeSpec, engineKey: string | undefined): LiveLook
  /** Never rejects. */
  explain(engine: StartedEngine, facts: ExitFacts, during: EndedDuring): Promise<SlotFailure>
}

export interface EffectsDeps extends SourceDeps {
  readonly runners: RunnerRegistry
  readonly ports: PortPool
  readonly missing: MissingFiles
  readonly clock: Clock
  readonly kept: KeptWrites
}

export function createSlotEffects(deps: EffectsDeps): SlotEffects {
  const { home, runners, ports, missing, clock, source, kept } = deps
  const sources = { home, runners, ports, source }
  const drawKey = createKeyDrawer(home, kept)
  return {
    readBinding: (slot, override) => readBinding(sources, slot, override),
    prepare: (bound, previousPort, signal) => prepareLaunch(sources, bound, previousPort, signal),
    examine: (slot, override, running) => examineSlot(sources, slot, override, running),
    drawKey,
    openProber: createProber,
    logPath: (slot) => slotLogPath(home, slot),
    missing,
    estimate: createNeedEstimator(),
    recordLaunch: (record) => {
      const path = launchRecordPath(home, record.slot)
      return kept.keep({ slot: record.slot, path, write: () => writeLaunchRecord(home, record) })
    },
    askSanity: (ask) => askSanity(ask, { clock }),
    openLiveLook: (origin, spec, engineKey) => createLiveLook(origin, spec, engineKey),
    explain: explainExit,
  }
}
