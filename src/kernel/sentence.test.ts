import { expect, it } from 'vitest'
import { counted, sentence } from './sentence.ts'

it.each([
  ['it ended', 'It ended.'],
  ['Out of memory.', 'Out of memory.'],
  ['out of memory: lower -ngl', 'Out of memory: lower -ngl.'],
  ['llama-server ended with 1', 'llama-server ended with 1.'],
  ['/models/a.gguf is gone', '/models/a.gguf is gone.'],
  ['who knows?', 'Who knows?'],
  ['it said "no."', 'It said "no."'],
  ['the rest is left out…', 'The rest is left out…'],
  [' ', ''],
])('%j as a sentence: %j', (text, expected) => {
  expect(sentence(text)).toBe(expected)
})

it.each([
  [0, '0 minutes'],
  [1, '1 minute'],
  [1.5, '1.5 minutes'],
  [15, '15 minutes'],
])('%d', (count, text) => {
  expect(counted(count, 'minute')).toBe(text)
})
