import type { LlamaContextSequence, Token } from 'node-llama-cpp'
import type { Engine } from './engine.ts'
import type { AnswerFacts, StopType } from './rules/answers.ts'
import { promptTooLong } from './rules/engine-error.ts'
import type { GenerationSettings } from './rules/generation-settings.ts'
import { StopTextFilter } from './rules/stop-text.ts'
import { samplingOptions } from './sampling-options.ts'
import type { HeldSequence } from './sequence-pool.ts'
import { TokenText } from './token-text.ts'

/**
 * Prompt tokens decoded between two looks at whether the client is still there. Small enough to stop soon on a slow machine, large
 * enough that a CPU decodes at full speed; fixed, so that equal requests are computed equally.
 */
const PROMPT_STEP_TOKENS = 128

/** Text of one or more tokens, never half a character. `predictedTokens`: so far. Generation waits for the promise. */
export type OnText = (text: string, tokens: readonly Token[], predictedTokens: number) => Promise<void>

const NOTHING: AnswerFacts = {
  sequenceId: -1,
  promptTokens: 0,
  cachedTokens: 0,
  predictedTokens: 0,
  promptMs: 0,
  predictedMs: 0,
  stopType: 'limit',
  stoppingWord: '',
  truncated: false,
}

/**
 * Decodes one request: waits for a sequence, reads the prompt, generates until an end. The signal ends it after the step that runs
 * (rejecting with `signal.reason`), and the sequence is free again. Errors: EngineError (prompt too long).
 */
export async function generate(
  engine: Engine,
  prompt: readonly Token[],
  settings: GenerationSettings,
  signal: AbortSignal,
  onText: OnText,
): Promise<AnswerFacts> {
  if (prompt.length === 0) return NOTHING
  if (prompt.length >= engine.loaded.windowTokens) throw promptTooLong(prompt.length, engine.loaded.windowTokens)
  const held = await engine.pool.acquire(prompt, signal)
  try {
    return await decode(engine, held, prompt, settings, signal, onText)
  } catch (error) {
    // After a fault of the engine nobody knows what the window holds.
    if (!signal.aborted) await engine.turns.take(() => held.sequence.clearHistory())
    throw error
  } finally {
    held.release()
  }
}

async function reusePrompt(sequence: LlamaContextSequence, prompt: readonly Token[], reuse: boolean): Promise<number> {
  // The last token is always decoded again: its logits choose the first token of the answer.
  if (reuse) await sequence.adaptStateToTokens(prompt.slice(0, -1), false)
  else await sequence.clearHistory()
  return sequence.nextTokenIndex
}

async function decode(
  engine: Engine,
  held: HeldSequence,
  prompt: readonly Token[],
  settings: GenerationSettings,
  signal: AbortSignal,
  onText: OnText,
): Promise<AnswerFacts> {
  const { loaded, counters, turns } = engine
  const sequence = held.sequence
  const startMs = performance.now()
  const cachedTokens = await turns.take(() => reusePrompt(sequence, prompt, settings.cachePrompt))
  counters.cachedPromptTokens += cachedTokens
  let at = cachedTokens
  while (prompt.length - at > PROMPT_STEP_TOKENS) {
    signal.throwIfAborted()
    const step = prompt.slice(at, at + PROMPT_STEP_TOKENS)
    await turns.take(() => sequence.evaluateWithoutGeneratingNewTokens(step))
    at += step.length
    counters.promptTokens += step.length
  }
  signal.throwIfAborted()

  const answer: Token[] = []
  const recent = (count: number): Token[] => (count < 0 ? [...prompt, ...answer] : [...prompt, ...answer].slice(-count))
  const steps = sequence.evaluate(prompt.slice(at), samplingOptions(loaded, settings, recent))
  const maxTokens = settings.maxTokens === -1 ? Number.POSITIVE_INFINITY : Math.max(1, settings.maxTokens)
  const tokenText = new TokenText(loaded.model, prompt)
  const stopFilter = new StopTextFilter(settings.stop)
  let unsent: Token[] = []
  let promptMs = 0
  let stopType: StopType = 'limit'
  let stoppingWord = ''
  let truncated = false
  const send = async (text: string): Promise<void> => {
    if (text === '') return
    const tokens = unsent
    unsent = []
    await onText(text, tokens, answer.length)
    signal.throwIfAborted()
  }
  let stepStartMs = 0
  try {
    while (true) {
      const next = await turns.take(() => steps.next())
      const nowMs = performance.now()
      if (answer.length === 0) {
        promptMs = nowMs - startMs
        counters.promptMs += promptMs
        counters.promptTokens += prompt.length - at
      } else counters.predictedMs += nowMs - stepStartMs
      signal.throwIfAborted()
      if (next.done === true) break
      const token = next.value
      answer.push(token)
      counters.predictedTokens++
      if (!settings.ignoreEos && loaded.model.isEogToken(token)) {
        stopType = 'eos'
        break
      }
      unsent.push(token)
      const step = stopFilter.push(tokenText.push(token))
      await send(step.text)
      if (step.stoppedBy !== undefined) {
        stopType = 'word'
        stoppingWord = step.stoppedBy
        break
      }
      if (answer.length >= maxTokens) break
      if (sequence.nextTokenIndex >= loaded.windowTokens - 1) {
        truncated = true
        break
      }
      stepStartMs = performance.now()
    }
  } finally {
    await turns.take(() => steps.return())
    counters.longestTokens = Math.max(counters.longestTokens, sequence.nextTokenIndex)
  }
  if (stopType !== 'word') {
    const rest = stopFilter.push(tokenText.end())
    await send(rest.text)
    if (rest.stoppedBy === undefined) await send(stopFilter.end())
  }
  return {
    sequenceId: held.id,
    promptTokens: prompt.length,
    cachedTokens,
    predictedTokens: answer.length,
    promptMs,
    predictedMs: performance.now() - startMs - promptMs,
    stopType,
    stoppingWord,
    truncated,
  }
}
