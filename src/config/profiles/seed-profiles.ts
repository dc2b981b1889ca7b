import type { ProfileBody } from '../../contract/profile.ts'

/** Pooled answers need the whole input in one batch; longer inputs than the window cannot come. Source: SPEC 3. */
const POOLED_BATCH = ['-b', '8192', '-ub', '8192'] as const

/**
 * A shared cache: a single caller may use the whole window, several share it. Without `--kv-unified` a fixed `--parallel` would cut the
 * window into equal parts.
 */
function parallel(sequences: number): string[] {
  return ['--parallel', String(sequences), '--kv-unified']
}

/** Conversations that are sent again with something cut out of their middle keep the rest of their cache. */
const REUSE = ['--cache-reuse', '256'] as const

/** Names of the built-in profiles. Source: SPEC 3. */
export const SEED_PROFILE_NAMES = [
  'agent',
  'brain',
  'chat',
  'coding',
  'comfyui',
  'cpu-chat',
  'embedding',
  'flm',
  'kokoro',
  'moonshine',
  'qwen3-tts',
  'reranking',
  'utility',
] as const
export type SeedProfileName = (typeof SEED_PROFILE_NAMES)[number]

/**
 * The built-in profiles, immutable. Flags are llama-server's; what a model recommends for itself (most sampling values) is left to it.
 * Source: SPEC 3.
 */
export const SEED_PROFILES: Readonly<Record<SeedProfileName, ProfileBody>> = {
  agent: {
    flags: [...parallel(4), ...REUSE],
    ctx_size: 65_536,
    intent: 'Tools and long conversations: a large window, several requests at once, cached prompts.',
  },
  utility: {
    // Summaries, titles and extraction should come out the same each time.
    flags: [...parallel(4), ...REUSE, '--temp', '0.2'],
    ctx_size: 65_536,
    enable_thinking: false,
    intent: 'Quick helper tasks (titles, summaries, extraction): no thinking, steady answers.',
  },
  coding: {
    // Code has few right continuations.
    flags: [...parallel(2), ...REUSE, '--temp', '0.2'],
    intent: 'Writing and changing code: steady answers, cached files.',
  },
  brain: {
    flags: [...parallel(2), ...REUSE],
    ctx_size: 65_536,
    enable_thinking: true,
    intent: 'Hard questions: thinks first, with a large window.',
  },
  embedding: {
    flags: ['--embedding', ...POOLED_BATCH],
    ctx_size: 4096,
    vision: 'off',
    speculation: 'off',
    intent: 'Texts into vectors, for search.',
  },
  reranking: {
    flags: ['--reranking', ...POOLED_BATCH],
    ctx_size: 4096,
    vision: 'off',
    speculation: 'off',
    intent: 'Orders found texts by how well they answer a question.',
  },
  flm: { runner: 'flm', intent: 'FastFlowLM on the NPU: chat, speech to text and embeddings in one process.' },
  kokoro: { runner: 'kokoro', intent: 'Text to speech with Kokoro: small, quick, fixed voices.' },
  'qwen3-tts': { runner: 'qwen3tts', intent: 'Text to speech with Qwen3-TTS: expressive, wants a GPU.' },
  comfyui: { runner: 'comfyui', intent: 'Images with ComfyUI.' },
  chat: { intent: "Everyday chat: the engine's defaults, up to 32768 tokens of the model's own window." },
  'cpu-chat': {
    // Small batches let others in between; each sequence more costs all of them on a few cores.
    flags: [...parallel(2), '-b', '512', '-ub', '256', ...REUSE],
    intent: 'Chat without a GPU: small batches, two requests at once.',
  },
  moonshine: { runner: 'moonshine', intent: 'Speech to text with Moonshine: small and quick, also without a GPU.' },
}

/** Is the name one of the built-in profiles? Their names are reserved. */
export function isSeedProfile(name: string): name is SeedProfileName {
  return SEED_PROFILE_NAMES.some((seed) => seed === name)
}
