// The known question of hal0's sanity gate: answered rightly whatever the other knobs say, and counted apart.
import { KNOB_DEFAULTS } from './knobs.mjs'
import { Sequences } from './sequences.mjs'
import { EngineState } from './state.mjs'

// As src/slots/rules/sanity-question.ts asks it; test/contract/fake-engine-sanity.test.ts proves that both agree.
const PROMPT = 'The capital of France is'
const MESSAGE = 'What is the capital of France?'
const SEED = 1789

/** A client that asks the same has another seed. @param {any} body */
export function isSanityQuestion(body) {
  if (body?.seed !== SEED || body.temperature !== 0) return false
  return body.prompt === PROMPT || (body.messages?.length === 1 && body.messages[0].content === MESSAGE)
}

/** Errors given to the gate so far, by the `sanity_knobs` that ask for them. @type {WeakMap<object, number>} */
const errorsGiven = new WeakMap()

/**
 * The engine as the gate meets it: a sequence is always free, nothing is counted, and of the knobs only `gibberish`, `sanity_answer`,
 * `sanity_delay_ms`, and what `sanity_knobs` says, hold.
 * @param {import('./engine.mjs').Engine} engine @returns {import('./engine.mjs').Engine}
 */
export function sanityEngine(engine) {
  const state = new EngineState()
  const knobs = () => {
    const { alias, model_name, gibberish, sanity_answer, sanity_delay_ms, sanity_knobs } = engine.knobs
    const own = { answer: sanity_answer, stall_first_ms: sanity_delay_ms, ...sanity_knobs }
    return { ...KNOB_DEFAULTS, alias, model_name, gibberish, ...own }
  }
  const takeError = () => {
    const key = engine.knobs.sanity_knobs ?? {}
    const given = errorsGiven.get(key) ?? 0
    const { error_count } = knobs()
    if (error_count >= 0 && given >= error_count) return false
    errorsGiven.set(key, given + 1)
    return true
  }
  return Object.create(engine, {
    knobs: { get: knobs },
    state: { value: state },
    sequences: { value: new Sequences(state, () => 1) },
    takeError: { value: takeError },
    tookRequest: { value: () => {} },
    answered: { value: () => {} },
    die: { value: (/** @type {string} */ why) => engine.die(why) },
  })
}
