import type { AssembledLaunch, ThinkingChoice } from '../../src/launch/rules/launch-request.ts'
import type { Runner } from '../../src/runners/runner.ts'

/** A runner of engines that exist only in memory. */
export const FAKE_RUNNER: Runner = {
  key: 'fake',
  dialect: 'llama-server',
  isSelfManaged: false,
  noEffect: new Set(),
  describe: async () => ({
    version: undefined,
    abilities: { jinja: true, mmproj: false, drafter: false, mtp: false, ngram: false },
    help: undefined,
  }),
  title: 'in memory',
  types: ['llm'],
  routes: ['/v1/chat/completions'],
  probe: { healthPath: '/health', modelsPath: '/v1/models', identityPath: '/props' },
  keyEnv: 'FAKE_KEY',
  onClientAbort: 'abort',
  signatures: [],
  findCommand: async () => ['/fake'],
}

/** Nobody has said whether the model thinks. */
export const UNDECIDED_THINKING: ThinkingChoice = {
  enabled: undefined,
  source: 'template',
  pinnedBy: undefined,
}

/** A launch of such an engine, but for its plan: nothing was left out, nothing is worth a note. */
export const FAKE_LAUNCH: Omit<AssembledLaunch, 'plan'> = {
  removed: [],
  ctx: { ctxTokens: 4_096, source: 'native' },
  speculation: { mode: 'off', detail: '' },
  thinking: UNDECIDED_THINKING,
  notes: [],
}
