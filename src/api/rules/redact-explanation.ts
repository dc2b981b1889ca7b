import type { RouteExplanation } from '../../contract/route-explanation.ts'
import { generalRemedy, HIDDEN, redact, type Told } from './redact.ts'

/** Errors of these speak of a slot's files, program or last failure; all others of what was asked. */
const SPEAKS_OF_FILES = /^(?:slot|config|profile|model)\./

/** The keys of an explanation as members read them. */
export const EXPLANATION_TOLD: Told<RouteExplanation> = {
  model: 'told',
  path: 'told',
  route: 'told',
  decision: 'told',
  slot: 'told',
  reason: 'told',
  steps: 'told',
  candidates: 'told',
  would_load: 'told',
  error: ({ error }) => {
    if (error === null || !SPEAKS_OF_FILES.test(error.code)) return error
    return { ...error, message: HIDDEN, remedy: generalRemedy(error.code) }
  },
}

/** Which slot a request would go to, without what its files say. Source: SPEC 14. */
export function redactExplanation(explanation: RouteExplanation): RouteExplanation {
  return redact(explanation, EXPLANATION_TOLD)
}
