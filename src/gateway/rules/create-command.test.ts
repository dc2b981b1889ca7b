import { expect, it } from 'vitest'
import { createCommand, type SlotWish } from './create-command.ts'

it.each<[string, SlotWish, string]>([
  ['chat', { type: 'llm', runners: ['embedded', 'cpu'] }, 'hal0 slot create NAME --model MODEL'],
  // It said the same as for chat, and made a slot of the engine that had just refused.
  [
    'messages',
    { type: 'llm', runners: ['standard', 'cpu', 'vllm'] },
    'hal0 slot create NAME --binary cpu --model MODEL',
  ],
  ['a route of vLLM alone', { type: 'llm', runners: ['vllm'] }, 'hal0 slot create NAME --binary vllm --model MODEL'],
  ['nobody knows the runners', { type: 'llm' }, 'hal0 slot create NAME --model MODEL'],
  [
    'embeddings',
    { type: 'embedding', runners: ['embedded', 'cpu'], name: 'embed', model: 'e5' },
    'hal0 slot create embed --type embedding --model e5',
  ],
  ['reranking', { type: 'reranking' }, 'hal0 slot create NAME --type reranking --binary cpu --model MODEL'],
  ['speech', { type: 'tts', runners: ['kokoro'] }, 'hal0 slot create NAME --type tts'],
  ['hearing', { type: 'transcription', runners: ['moonshine'] }, 'hal0 slot create NAME --type transcription'],
  ['images', { type: 'image', runners: ['comfyui'] }, 'hal0 slot create NAME --type image --model MODEL'],
])('%s', (_name, wish, command) => expect(createCommand(wish)).toBe(command))
