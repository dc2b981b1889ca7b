import type { LaunchLayer, LaunchPlan } from '../../contract/launch-plan.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { chooseContext } from './choose-context.ts'
import { chooseSpeculation } from './choose-speculation.ts'
import { chooseThinking } from './choose-thinking.ts'
import type { DerivedFlag, DerivedLayers, LaunchChoices } from './derived-layers.ts'
import { type CandidateFlag, fitToEngine } from './fit-to-engine.ts'
import { flmLayers } from './flm-layers.ts'
import { gpuEnvironment } from './gpu-environment.ts'
import { launchNotes } from './launch-notes.ts'
import type { AssembledLaunch, LaunchRequest, RemovedFlag } from './launch-request.ts'
import { llamaServerLayers } from './llama-server-layers.ts'
import { lookUpFlag } from './look-up-flag.ts'
import { type LayeredFlag, mergeFlags } from './merge-flags.ts'
import { sglangLayers, vllmLayers } from './python-layers.ts'
import { findUnspeakable, type WrittenFlag } from './read-flags.ts'
import { readProfileFlags } from './read-profile-flags.ts'
import { isModeFlag } from './screen-flags.ts'
import { templateFlags } from './template-launch.ts'

/** Flags by which a profile chooses the way of speculating itself. */
const SPECULATION_FLAGS: ReadonlySet<string> = new Set([
  '--spec-type',
  '--speculative-config',
  '--speculative-algorithm',
])

/**
 * What is the launch command? Four layers, lowest first; per canonical flag the last one wins and stands where it was written, repeatable
 * flags all stay. What a profile may not set is left out and listed. Errors: `slot.flag_unsupported` (the engine's help does not know a flag),
 * `slot.config_error` (the profile's words cannot be read as flags). Source: SPEC 9.
 */
export function assembleLaunch(request: LaunchRequest): Result<AssembledLaunch, Hal0Error> {
  const { engine, profile, tune } = request
  const { flags: own, removed } = readProfileFlags(request)
  const choices = choose(request, own)
  const reasoning = lastOf(own, ({ canonical }) => canonical === '--reasoning')?.values[0]
  const thinking = chooseThinking({
    slot: tune.enable_thinking,
    profile: profile.enableThinking,
    reasoning: engine.dialect === 'llama-server' ? reasoning : undefined,
    isPooled: choices.isPooled,
  })
  const written =
    engine.dialect === 'template' ? writeTemplate(request, choices, own) : writeFlags(request, choices, own)
  if (!written.ok) return written
  const { flags, notes } = written.value
  return ok({
    plan: planOf(request, flags),
    removed: [...removed, ...written.value.removed],
    ctx: choices.ctx,
    speculation: choices.speculation,
    thinking,
    notes: [...notes, ...launchNotes(request, choices, flags)],
    canonicals: flags.map(({ canonical }) => canonical),
  })
}

function choose(request: LaunchRequest, own: readonly WrittenFlag[]): LaunchChoices {
  const { engine, model, profile, tune, type } = request
  const mode = type === 'embedding' || type === 'reranking' ? type : undefined
  const saysMode = own.some(isModeFlag)
  const isPooled = mode !== undefined || saysMode
  const ctx = chooseContext({
    slotCtxTokens: tune.ctx_size,
    profileCtxTokens: profile.ctxTokens,
    nativeCtxTokens: model?.nativeCtxTokens ?? null,
    isNativeUsed: engine.key !== 'flm',
  })
  const speculation = chooseSpeculation({
    slot: tune.speculation,
    profile: profile.speculation,
    flag: lastOf(own, ({ canonical }) => SPECULATION_FLAGS.has(canonical)),
    model,
    abilities: engine.abilities,
    runner: engine.key,
    isPooled,
  })
  const hasVision = !isPooled && engine.abilities.mmproj && (tune.vision ?? profile.vision ?? 'auto') === 'auto'
  const unsaid = mode === undefined || saysMode ? {} : { unsaidMode: mode }
  return { ctx, speculation, isPooled, ...unsaid, hasVision }
}

interface WrittenCommand {
  readonly flags: readonly LayeredFlag[]
  readonly removed: readonly RemovedFlag[]
  readonly notes: readonly string[]
}

function writeTemplate(
  request: LaunchRequest,
  choices: LaunchChoices,
  own: readonly WrittenFlag[],
): Result<WrittenCommand, Hal0Error> {
  const unspeakable = findUnspeakable(own.flatMap(({ words }) => words))
  if (unspeakable !== undefined) return err(unreadableFlags(request, unspeakable))
  return ok(templateFlags(request, choices, own))
}

function writeFlags(
  request: LaunchRequest,
  choices: LaunchChoices,
  own: readonly WrittenFlag[],
): Result<WrittenCommand, Hal0Error> {
  const unreadable = own.find(({ problem }) => problem !== undefined)?.problem
  if (unreadable !== undefined) return err(unreadableFlags(request, unreadable))
  const layers = layersOf(request, choices)
  const derive = (layer: LaunchLayer, flags: readonly DerivedFlag[]) =>
    flags.map((flag) => candidateOf(request, layer, flag))
  const fitted = fitToEngine(request, [
    ...derive('base', layers.base),
    ...derive('model', layers.model),
    ...derive('profile', layers.profile),
    ...own.map(({ flag, values, known: { canonical, repeats } }) => {
      return { flag, values, layer: 'profile' as const, canonical, repeats, isDispensable: false, isWritten: true }
    }),
    ...derive('slot', layers.slot),
  ])
  if (!fitted.ok) return fitted
  const { kept, replaced } = mergeFlags(fitted.value.flags)
  return ok({ flags: kept, removed: [...fitted.value.removed, ...replaced], notes: fitted.value.notes })
}

function layersOf(request: LaunchRequest, choices: LaunchChoices): DerivedLayers {
  switch (request.engine.dialect) {
    case 'vllm':
      return vllmLayers(request, choices)
    case 'sglang':
      return sglangLayers(request, choices)
    case 'flm':
      return flmLayers(request, choices)
    case 'llama-server':
    case 'template':
      return llamaServerLayers(request, choices)
  }
}

function candidateOf({ engine }: LaunchRequest, layer: LaunchLayer, derived: DerivedFlag): CandidateFlag {
  const { canonical, repeats } = lookUpFlag(derived.flag, engine.dialect, engine.help)
  return { ...derived, layer, canonical: derived.flag === '' ? '--model' : canonical, repeats, isWritten: false }
}

function planOf({ slot, engine, env, device, gpus, port }: LaunchRequest, flags: readonly LayeredFlag[]): LaunchPlan {
  return {
    slot,
    command: engine.command,
    flags: flags.map(({ flag, values, layer }) => ({ flag, values, layer })),
    env: { ...gpuEnvironment({ device, gpus }), ...env },
    port,
    ...(engine.keyEnv === undefined ? {} : { keyEnv: engine.keyEnv }),
    ...(engine.stopSignal === undefined ? {} : { stopSignal: engine.stopSignal }),
  }
}

function lastOf(
  flags: readonly WrittenFlag[],
  test: (known: WrittenFlag['known']) => boolean,
): WrittenFlag | undefined {
  return flags.findLast(({ known }) => test(known))
}

function unreadableFlags({ slot, profile }: LaunchRequest, problem: string): Hal0Error {
  return Hal0Error.of(
    'slot.config_error',
    `slot ${slot}: the flags of profile ${profile.name} cannot be read: ${problem}`,
    {
      param: 'flags',
      details: {
        slot,
        profile: profile.name,
        remedy: `Correct flags of the profile (\`hal0 profile edit ${profile.name}\`), or point the slot at another one.`,
      },
    },
  )
}
