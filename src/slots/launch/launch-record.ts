import { readFile } from 'node:fs/promises'
import { slotFileSchema } from '../../config/slots/rules/slot-schema.ts'
import type { LaunchPlan } from '../../contract/launch-plan.ts'
import { type LaunchRecord, launchRecordSchema } from '../../contract/launch-record.ts'
import { type Home, launchRecordPath } from '../../files/home.ts'
import { withoutUndefined } from '../../kernel/without-undefined.ts'
import type { MemoryNeed } from '../../launch/rules/memory-need.ts'
import type { Runner } from '../../runners/runner.ts'
import type { Binding } from './prepare-launch.ts'
import { writeRunFile } from './write-run-file.ts'

/** A launch as it is kept for the daemon that comes after this one. */
export function launchRecordOf(slot: string, attemptId: string, binding: Binding, need: MemoryNeed): LaunchRecord {
  const { bound, launch, plan, runner } = binding
  const { keyEnv, stopSignal } = plan
  const [program, ...before] = plan.command
  return {
    version: 1,
    slot,
    attempt_id: attemptId,
    plan: {
      slot: plan.slot,
      command: [program, ...before],
      flags: plan.flags.map((flag) => ({ ...flag, values: [...flag.values] })),
      env: { ...plan.env },
      port: plan.port,
      ...withoutUndefined({ keyEnv, stopSignal }),
    },
    runner: runner.key,
    build: binding.build ?? null,
    model_id: bound.modelId,
    profile: bound.profile,
    profile_source: bound.profileSource,
    config: { ...bound.config },
    ...(bound.gpus === undefined ? {} : { gpus: [...bound.gpus] }),
    ctx: { ...launch.ctx },
    thinking: {
      enabled: launch.thinking.enabled ?? null,
      source: launch.thinking.source,
      pinned_by: launch.thinking.pinnedBy ?? null,
    },
    fingerprint: binding.fingerprint,
    need,
  }
}

/** The binding of an engine that runs already. `releasePort`: as the port pool gave it. Errors: a ZodError when its file cannot be one. */
export function bindingOfRecord(record: LaunchRecord, runner: Runner, releasePort: () => void): Binding {
  const { keyEnv, stopSignal, ...plan } = record.plan
  const whole: LaunchPlan = { ...plan, ...withoutUndefined({ keyEnv, stopSignal }) }
  return {
    bound: {
      config: slotFileSchema.parse(record.config),
      modelId: record.model_id,
      profile: record.profile,
      profileSource: record.profile_source,
      gpus: record.gpus ?? pinOf(record.config),
    },
    runner,
    plan: whole,
    launch: {
      plan: whole,
      removed: [],
      ctx: record.ctx,
      speculation: { mode: 'off', detail: 'not kept' },
      thinking: {
        enabled: record.thinking.enabled ?? undefined,
        source: record.thinking.source,
        pinnedBy: record.thinking.pinned_by ?? undefined,
      },
      notes: [],
    },
    build: record.build ?? undefined,
    fingerprint: record.fingerprint,
    releasePort,
  }
}

/** Of a record that an earlier hal0 wrote. */
function pinOf(config: LaunchRecord['config']): readonly number[] | undefined {
  const pinned = config['gpu_index']
  return typeof pinned === 'number' ? [pinned] : undefined
}

/** Source: SPEC 4 "Adoption". Errors: the system's own. */
export async function writeLaunchRecord(home: Home, record: LaunchRecord): Promise<void> {
  // Private: it holds the environment.
  await writeRunFile(launchRecordPath(home, record.slot), `${JSON.stringify(record)}\n`)
}

/** Undefined = there is none, or it is not one of this hal0's: its engine cannot be adopted. Never rejects. */
export async function readLaunchRecord(home: Home, slot: string): Promise<LaunchRecord | undefined> {
  try {
    return launchRecordSchema.parse(JSON.parse(await readFile(launchRecordPath(home, slot), 'utf8')))
  } catch {
    return undefined
  }
}
