import type { ArbiterState } from '../../contract/arbiter.ts'

/** What an earlier daemon left, as it turns out to be. */
export interface StartDecision {
  readonly mode: ArbiterState['mode']
  readonly reason: string
  /** The switch that was under way goes on: the mode is not kept any longer. */
  readonly goesOn: boolean
}

/**
 * Which mode is a restarted daemon in? The persisted target is taken up where the slots bear it out, else rolled back.
 * `isImageUp`, `isLlmUp`: a slot of that group is in memory. Source: SPEC 8 "State survives a restart".
 */
export function chooseStart(
  { mode, switching_to }: Pick<ArbiterState, 'mode' | 'switching_to'>,
  up: { readonly isImageUp: boolean; readonly isLlmUp: boolean },
): StartDecision {
  if (!up.isImageUp) {
    const reason = mode === 'img' ? 'no image slot runs any more' : 'the language models have the memory'
    return { mode: 'llm', reason, goesOn: false }
  }
  if (mode === 'img') {
    return switching_to === 'llm'
      ? { mode: 'img', reason: 'the switch back to the language models is taken up', goesOn: true }
      : { mode: 'img', reason: 'images have the memory', goesOn: false }
  }
  if (switching_to === 'img' && !up.isLlmUp) {
    return { mode: 'img', reason: 'the switch to images had come through', goesOn: false }
  }
  const reason = switching_to === 'img' ? 'the switch to images is rolled back' : 'the language models have the memory'
  return { mode: 'llm', reason, goesOn: false }
}
