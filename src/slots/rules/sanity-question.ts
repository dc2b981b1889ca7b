/** Where the known question can be asked. */
export type SanityRoute = '/v1/completions' | '/v1/chat/completions'

/** Any number will do; a client hardly ever takes the same one, so that an engine of a test knows the gate by it. */
const SEED = 1789

/** Paris comes first, or it does not come. */
const COMPLETION_TOKENS = 24

/** Enough for a model that thinks although it is told not to. */
const CHAT_TOKENS = 256

/**
 * The body that asks an engine for the capital of France: deterministic, as a stream, so that a slow engine can be cut once it has said it.
 * `plain`: without the fields that turn thinking off, which some chat templates refuse. Source: SPEC 5 "output-sanity gate".
 */
export function sanityQuestion(
  route: SanityRoute,
  alias: string,
  form: 'full' | 'plain',
): Readonly<Record<string, unknown>> {
  const common = { model: alias, temperature: 0, seed: SEED, stream: true }
  if (route === '/v1/completions') {
    return { ...common, prompt: 'The capital of France is', max_tokens: COMPLETION_TOKENS }
  }
  const messages = [{ role: 'user', content: 'What is the capital of France?' }]
  const chat = { ...common, messages, max_tokens: CHAT_TOKENS }
  if (form === 'plain') return chat
  // "none" is refused by engines that know only low to high; "low" by nobody.
  return { ...chat, chat_template_kwargs: { enable_thinking: false }, reasoning_effort: 'low' }
}
