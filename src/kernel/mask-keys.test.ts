import { describe, expect, it } from 'vitest'
import { Hal0Error } from './errors.ts'
import { holdsKey, maskKeys } from './mask-keys.ts'

const KEY = `hal0_abcdefg${'H-_9'.repeat(9)}`

describe('maskKeys', () => {
  it.each([
    [`/api/keys/${KEY}`, '/api/keys/hal0_abcdefg…'],
    [`/v1/models/${KEY.replace('_', '%5F')}/x`, '/v1/models/hal0%5Fabcde…/x'],
    [`hal0_local_${KEY} and ${KEY.toUpperCase()}`, 'hal0_local_h… and HAL0_ABCDEFG…'],
    // Cut within: what is left of it is a key still.
    [`The model "${KEY.slice(0, 40)}…"`, 'The model "hal0_abcdefg…"'],
    // The prefix itself may be told.
    ['/api/keys/hal0_abcdefg', '/api/keys/hal0_abcdefg'],
    ['/srv/hal0_models_of_2026/a.gguf', '/srv/hal0_models_of_2026/a.gguf'],
    ['/api/slots/hal0', '/api/slots/hal0'],
  ])('%s', (text, masked) => expect(maskKeys(text)).toBe(masked))

  it('is what every error says', () => {
    const error = Hal0Error.of('model_not_found', `The model "${KEY}" does not exist here`, { param: KEY })
    expect([error.message, error.param]).toEqual(['The model "hal0_abcdefg…" does not exist here', 'hal0_abcdefg…'])
  })
})

it.each([
  [`hal0_${'x'.repeat(20)}`, true],
  [`Bearer hal0_${'aB3-_'.repeat(9)}`, true],
  [`trace=hal0_local_${'a1'.repeat(9)}`, true],
  [`hal0_${'x'.repeat(19)}`, false],
  ['hal0_short hal0_words', false],
  ['hal0/agent', false],
  [`a=hal0%5F${'x'.repeat(20)}`, true],
  ['', false],
])('%s holds a key: %s', (text, expected) => expect(holdsKey(text)).toBe(expected))
