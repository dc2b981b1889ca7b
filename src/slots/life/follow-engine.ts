import { sleep } from '../../kernel/clock.ts'
import { SECOND_MS } from '../../kernel/units.ts'
import { chooseSanityMode } from '../rules/choose-sanity-mode.ts'
import { nextProbeMs } from '../rules/next-probe.ts'
import type { AttemptDeps } from './load-attempt.ts'
import type { ProbeVerdict } from './probe.ts'
import type { SanityVerdict } from './sanity.ts'
import { aliasOf, originOf, type StartedEngine } from './started-engine.ts'

/** What is learnt of an engine on its way up. */
export type EngineNews = { readonly attemptId: string } & (
  | { readonly type: 'probed'; readonly verdict: ProbeVerdict; readonly warmMs: number; readonly isGated: boolean }
  | { readonly type: 'judged'; readonly verdict: SanityVerdict; readonly sanityMs: number }
)

/** After an answer that says nothing about the output; the load's own deadline ends it. */
const ASK_AGAIN_MS = 5 * SECOND_MS

export interface Following {
  readonly signal: AbortSignal
  /** Its answers were found right by an earlier daemon. */
  readonly isJudged?: boolean
  /** Its memory is allocated: it answers, with its model or without. */
  readonly onUp: () => void
}

/**
 * Looks until the engine is ready or proves to be someone else's, then whether what it answers makes sense, or until nobody wants to know any
 * more. Never rejects. Source: SPEC 5 "Probe", "output-sanity gate".
 */
export async function followEngine(
  deps: AttemptDeps,
  engine: StartedEngine,
  { signal, isJudged = false, onUp }: Following,
  tell: (news: EngineNews) => void,
): Promise<void> {
  const { clock, settings } = deps
  const { attemptId } = engine
  const { config } = engine.binding.bound
  const ended = new AbortController()
  void engine.process.exited.then(() => ended.abort())
  const stop = AbortSignal.any([signal, ended.signal])
  const mode = isJudged ? 'off' : chooseSanityMode(config, settings)
  const verdict = await probe(deps, engine, stop, (seen, warmMs) => {
    if (seen.kind === 'ready' || seen.kind === 'no_model') onUp()
    tell({ type: 'probed', attemptId, verdict: seen, warmMs, isGated: mode !== 'off' })
  })
  if (verdict !== 'ready' || mode === 'off') return
  const begunMs = clock.monotonicMs()
  while (!stop.aborted) {
    const { binding, engineKey } = engine
    const judged = await deps.effects.askSanity({
      origin: originOf(engine),
      engineKey,
      alias: aliasOf(engine),
      onClientAbort: binding.runner.onClientAbort,
      routes: binding.runner.routes,
      mode,
      isCpu: config.device === 'cpu',
      signal: stop,
    })
    if (stop.aborted) return
    tell({ type: 'judged', attemptId, verdict: judged, sanityMs: clock.monotonicMs() - begunMs })
    if (judged.kind !== 'ambiguous') return
    await sleep(clock, ASK_AGAIN_MS, stop)
  }
}

/** Ends with `ready`, `stranger`, or with whatever was seen last when nobody wants to know any more. */
async function probe(
  { clock, effects }: AttemptDeps,
  engine: StartedEngine,
  stop: AbortSignal,
  tell: (verdict: ProbeVerdict, warmMs: number) => void,
): Promise<ProbeVerdict['kind']> {
  const prober = effects.openProber(originOf(engine), engine.binding.runner.probe, engine.engineKey)
  const begunMs = clock.monotonicMs()
  let told: ProbeVerdict['kind'] = 'silent'
  while (!stop.aborted) {
    const verdict = await prober.look()
    const ageMs = clock.monotonicMs() - begunMs
    if (verdict.kind !== told && !stop.aborted) tell(verdict, ageMs)
    told = verdict.kind
    if (verdict.kind === 'ready' || verdict.kind === 'stranger') break
    await sleep(clock, nextProbeMs(ageMs), stop)
  }
  await prober.close()
  return stop.aborted ? 'silent' : told
}
