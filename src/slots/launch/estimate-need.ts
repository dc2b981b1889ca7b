import { stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { LaunchPlan } from '../../contract/launch-plan.ts'
import type { GgufFacts } from '../../contract/model.ts'
import type { Device } from '../../contract/slot-row.ts'
import type { AssembledLaunch } from '../../launch/rules/launch-request.ts'
import type { MemoryNeed } from '../../launch/rules/memory-need.ts'
import { estimateMemoryNeed } from '../../launch/rules/memory-need-estimate.ts'
import type { NeedFile, NeedFlag } from '../../launch/rules/memory-need-request.ts'
import { readGgufFacts } from '../../models/gguf-facts.ts'
import { splitPartName } from '../../models/rules/file-names.ts'
import type { Runner } from '../../runners/runner.ts'

/** What of a binding decides its memory. */
export interface NeedBinding {
  readonly bound: { readonly config: { readonly device: Device } }
  readonly runner: Pick<Runner, 'key' | 'dialect' | 'isSelfManaged' | 'modelRef'>
  readonly launch: Pick<AssembledLaunch, 'canonicals' | 'ctx' | 'speculation'>
  readonly plan: Pick<LaunchPlan, 'flags' | 'env'>
}

/** Says what a launch will take. Never rejects. */
export type NeedEstimator = (binding: NeedBinding) => Promise<MemoryNeed>

/** Flags that name files of weights beside the model's own. */
const ADAPTER_FLAGS: ReadonlySet<string> = new Set([
  '--lora',
  '--lora-scaled',
  '--control-vector',
  '--control-vector-scaled',
])

/**
 * How much memory will a launch take? From the files of its command as they are now; the headers are read with bounds, and kept while a file
 * stays as it is. Source: SPEC 7 "Pre-load admission".
 */
export function createNeedEstimator(): NeedEstimator {
  return async (binding) => {
    try {
      return await estimate(binding)
    } catch {
      return { kind: 'unknown', reason: 'its files could not be looked at' }
    }
  }
}

async function estimate({ bound, runner, launch, plan }: NeedBinding): Promise<MemoryNeed> {
  const canonicals = launch.canonicals ?? []
  const flags: readonly NeedFlag[] = plan.flags.map(({ flag, values }, at) => {
    return { canonical: canonicals[at] ?? flag, flag, values }
  })
  const pathOf = (name: string) => flags.findLast(({ canonical }) => canonical === name)?.values[0]
  const isSelfManaged = runner.isSelfManaged || runner.modelRef === 'tag'
  const readsFiles = runner.dialect === 'llama-server' && !isSelfManaged
  const file = (name: string) => (readsFiles ? readNeedFile(pathOf(name)) : undefined)
  const [model, mmproj, drafter, adapters] = await Promise.all([
    file('--model'),
    file('--mmproj'),
    file('--spec-draft-model'),
    Promise.all(readsFiles ? adapterPathsOf(flags).map(sizeOfAdapter) : []),
  ])
  return estimateMemoryNeed({
    runner: runner.key,
    dialect: runner.dialect,
    isSelfManaged,
    device: bound.config.device,
    flags,
    env: plan.env,
    ctxTokens: launch.ctx.ctxTokens,
    speculation: launch.speculation.mode,
    model,
    mmproj,
    drafter,
    adapters,
  })
}

async function readNeedFile(path: string | undefined): Promise<NeedFile | undefined> {
  if (path === undefined) return undefined
  const facts = await readGgufFacts(path).catch(() => null)
  return { path, facts, sizeBytes: await sizeOfParts(path, facts) }
}

/** Of all parts, which an engine finds by the name of the first; null = one is missing or named differently. */
async function sizeOfParts(path: string, facts: GgufFacts | null): Promise<number | null> {
  if (facts?.split == null) return sizeOf(path)
  const name = splitPartName(basename(path))
  if (name === undefined || name.parts !== facts.split.parts) return null
  const parts = Array.from({ length: name.parts }, (_, at) => join(dirname(path), name.nameOf(at + 1)))
  const sizes = await Promise.all(parts.map(sizeOf))
  return sizes.reduce<number | null>((sum, size) => (sum === null || size === null ? null : sum + size), 0)
}

async function sizeOf(path: string): Promise<number | null> {
  return stat(path).then(
    (facts) => (facts.isFile() ? facts.size : null),
    () => null,
  )
}

/** Values are paths, several with commas between; the scaled kinds may end in `:SCALE`. */
function adapterPathsOf(flags: readonly NeedFlag[]): readonly string[] {
  return flags
    .filter(({ canonical }) => ADAPTER_FLAGS.has(canonical))
    .flatMap(({ values }) => values.flatMap((value) => value.split(',')))
    .map((value) => value.replace(/:-?[\d.]+$/, ''))
}

async function sizeOfAdapter(path: string): Promise<Pick<NeedFile, 'path' | 'sizeBytes'>> {
  return { path, sizeBytes: await sizeOf(path) }
}
