import { readdir } from 'node:fs/promises'
import type { LaunchRecord } from '../../contract/launch-record.ts'
import type { SanityResult } from '../../contract/slot-state.ts'
import { announce } from '../../events/announce.ts'
import type { Publisher } from '../../events/bus.ts'
import { type Home, slotLogPath, slotStatesFolder } from '../../files/home.ts'
import { type Clock, sleep } from '../../kernel/clock.ts'
import { messageOf } from '../../kernel/errors.ts'
import type { Log } from '../../kernel/log.ts'
import { SECOND_MS } from '../../kernel/units.ts'
import type { RunnerRegistry } from '../../runners/registry.ts'
import type { RecordedProcess, Runtime, Survivor } from '../../runtimes/runtime.ts'
import { bindingOfRecord, readLaunchRecord } from '../launch/launch-record.ts'
import { readEngineKey } from '../life/engine-key.ts'
import type { StartedEngine } from '../life/started-engine.ts'
import type { PortPool } from '../port-pool.ts'
import { type AdoptionDecision, chooseAdoption } from '../rules/choose-adoption.ts'
import { type SourceDeps, sourceOf } from '../slot-source.ts'
import { readStateRecord } from '../state-record.ts'

/** An engine nobody leads any more gets this long to end by itself. */
const SURVIVOR_GRACE_MS = 5 * SECOND_MS

/** A process that not even SIGKILL ends (stuck in a driver) must not keep the daemon from starting. */
const GIVE_UP_MS = 15 * SECOND_MS

/** A running engine that a slot takes over. `known`: what was found of its output; undefined = it is asked first. */
export interface Adoption {
  readonly engine: StartedEngine
  readonly known: SanityResult | undefined
}

export interface SurvivorDeps extends SourceDeps {
  readonly runtime: Runtime
  readonly runners: RunnerRegistry
  readonly ports: Pick<PortPool, 'hold'>
  readonly clock: Clock
  readonly bus: Publisher
  readonly log: Log
}

/**
 * What becomes of the engines that an earlier daemon of this home left running: each slot takes over its own, all others are ended, and that
 * is said. Resolves when those are dead, or beyond help. Source: SPEC 4 "Adoption".
 */
export async function takeSurvivors(deps: SurvivorDeps): Promise<ReadonlyMap<string, Adoption>> {
  const { home, log, runtime } = deps
  const adopted = new Map<string, Adoption>()
  const launches = await readLaunches(home)
  const stopSignalOf = (attemptId: string) => launches.get(attemptId)?.plan.stopSignal
  const survivors = await runtime.findSurvivors(await readRecordedProcesses(home, log), stopSignalOf)
  await Promise.all(
    survivors.map(async (survivor) => {
      const decision = await decide(survivor, deps)
      const adoption = decision.kind === 'adopt' ? await tryAdoption(survivor, decision, deps) : decision
      if (adoption.kind === 'adopted') adopted.set(survivor.slot, adoption)
      else await end(survivor, adoption.reason, deps)
    }),
  )
  return adopted
}

async function decide({ slot, attemptId, process }: Survivor, deps: SurvivorDeps): Promise<AdoptionDecision> {
  const { home, log } = deps
  // A file that cannot be read is there: it never takes down what runs.
  const hasFile = await sourceOf(deps)
    .read(slot)
    .then(
      (config) => config !== undefined,
      () => true,
    )
  const [record, launch] = await Promise.all([readStateRecord(home, slot, log), readLaunchRecord(home, slot)])
  return chooseAdoption({ attemptId, ref: process.ref, hasFile, record, launch })
}

async function tryAdoption(
  { slot, attemptId, process }: Survivor,
  { launch, known }: AdoptionDecision & { readonly kind: 'adopt' },
  { home, runners, ports }: SurvivorDeps,
): Promise<(Adoption & { readonly kind: 'adopted' }) | { readonly kind: 'end'; readonly reason: string }> {
  const runner = runners.find(launch.runner)
  if (runner === undefined) return { kind: 'end', reason: `there is no runner ${launch.runner} any more` }
  const engineKey = launch.plan.keyEnv === undefined ? undefined : await readEngineKey(home, slot)
  if (launch.plan.keyEnv !== undefined && engineKey === undefined) {
    return { kind: 'end', reason: 'its key is lost' }
  }
  const releasePort = ports.hold(slot, launch.plan.port)
  try {
    const binding = bindingOfRecord(launch, runner, releasePort)
    void process.exited.then(releasePort)
    const engine = { attemptId, binding, process, engineKey, logPath: slotLogPath(home, slot), need: launch.need }
    return { kind: 'adopted', engine, known }
  } catch (cause) {
    releasePort()
    return { kind: 'end', reason: `what it was started with cannot be understood: ${messageOf(cause)}` }
  }
}

async function end(
  { slot, attemptId, process }: Survivor,
  reason: string,
  { clock, bus, log }: SurvivorDeps,
): Promise<void> {
  const { pid } = process.ref
  const givenUp = new AbortController()
  const outcome = await Promise.race([
    process.stop({ graceMs: SURVIVOR_GRACE_MS }),
    sleep(clock, GIVE_UP_MS, givenUp.signal).then(() => 'still alive' as const),
  ])
  givenUp.abort()
  const said = `an engine of slot ${slot} that an earlier daemon left running (pid ${pid}`
  const message =
    outcome === 'still alive' ? `could not stop ${said}): ${reason}` : `stopped ${said}, ${outcome}): ${reason}`
  const data = { slot, pid, outcome, reason }
  const event = { type: 'slot.survivor_stopped', severity: 'warning', source: `slot:${slot}`, message, data } as const
  announce({ log, bus }, event, { attempt: attemptId })
}

/** Of every slot that ever ran, by attempt. */
async function readLaunches(home: Home): Promise<ReadonlyMap<string, LaunchRecord>> {
  const launches = await Promise.all((await slotsThatRan(home)).map((slot) => readLaunchRecord(home, slot)))
  return new Map(launches.flatMap((launch) => (launch === undefined ? [] : [[launch.attempt_id, launch]])))
}

/** Also those whose file is gone: their engines are not. */
async function slotsThatRan(home: Home): Promise<readonly string[]> {
  return readdir(slotStatesFolder(home)).catch(() => [])
}

async function readRecordedProcesses(home: Home, log: Log): Promise<RecordedProcess[]> {
  const slots = await slotsThatRan(home)
  const records = await Promise.all(slots.map((slot) => readStateRecord(home, slot, log)))
  return records.flatMap((record) => {
    const { process: ref, attempt_id: attemptId } = record?.extra ?? {}
    if (record === undefined || ref === undefined || attemptId === undefined) return []
    return [{ slot: record.name, attemptId, ref }]
  })
}
