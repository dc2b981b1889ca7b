import { expect, it } from 'vitest'
import { maskKeys } from './mask-keys.ts'

it.each([
  ['/api/keys/hal0_abcdefgHIJKLMNOP', '/api/keys/hal0_abcdefg…'],
  ['/api/keys/hal0%5FabcdefgHIJKLMNOP/x', '/api/keys/hal0%5Fabcde…/x'],
  ['hal0_local_abcdefgh and HAL0_abcdefgHIJ', 'hal0_local_a… and HAL0_abcdefg…'],
  // The prefix itself may be told.
  ['/api/keys/hal0_abcdefg', '/api/keys/hal0_abcdefg'],
  ['/api/slots/hal0', '/api/slots/hal0'],
])('%s', (text, masked) => {
  expect(maskKeys(text)).toBe(masked)
})
