import { describe, expect, it } from 'vitest'
import { Hal0Error } from '../../kernel/errors.ts'
import { publicSlotError } from './public-error.ts'

describe('publicSlotError', () => {
  it.each([
    'config.invalid',
    'slot.llama_env_denied',
    'slot.config_error',
    'slot.tuning_key_denied',
    'slot.profile_missing',
    'model.not_found',
    'slot.model_missing',
    'slot.port_in_use',
  ] as const)('%s is a 503 without its text', (code) => {
    const told = publicSlotError(
      Hal0Error.of(code, '/home/me/SECRET FOLDER/slots/a.toml', { param: 'x', details: { file: '/home/me/SECRET' } }),
      'a',
    )
    expect([told.status, told.error.code, told.error.retryAfterS]).toEqual([503, code, undefined])
    expect(JSON.stringify([told.error.message, told.error.details])).not.toContain('SECRET')
    expect(told.error.message).toContain('"a"')
  })

  it('a slot that is being deleted is a name that does not exist, not a mistake in settings', () => {
    const told = publicSlotError(Hal0Error.of('slot.not_found', 'slot a has no file (/home/me/SECRET)'), 'a')
    expect([told.status, told.error.code]).toEqual([404, 'model_not_found'])
    expect(JSON.stringify([told.error.message, told.error.details])).not.toContain('SECRET')
  })

  it.each([
    Hal0Error.of('slot.not_ready', 'slot a has no model'),
    Hal0Error.of('slot.loading', 'still', { retryAfterS: 3 }),
    Hal0Error.of('dispatch.queue_full', 'full', { retryAfterS: 1 }),
    Hal0Error.of('internal', 'odd'),
    // Both were told as a mistake in settings (503), without the numbers and names that help.
    Hal0Error.of('slot.preload_evict_insufficient', 'too large', { details: { shortfall_bytes: 1, pinned: [] } }),
    Hal0Error.of('slot.npu_exclusivity_violation', 'slot b has the NPU', { details: { slot: 'a', holder: 'b' } }),
  ])('passes %s', (error) => expect(publicSlotError(error, 'a')).toEqual({ error, status: error.status }))

  it.each([
    ["failed to open '/home/me/models/x.gguf': no", "failed to open 'x.gguf': no"],
    ['looked for /usr/bin/llama-server, in PATH', 'looked for llama-server, in PATH'],
    ['error: ~/models/a.gguf', 'error: a.gguf'],
    ['at http://127.0.0.1:8081/health', 'at http://127.0.0.1:8081/health'],
    ['1/2 and a/b stay', '1/2 and a/b stay'],
  ])('an engine that failed is told without folders: %s', (text, expected) => {
    const told = publicSlotError(Hal0Error.of('slot.spawn_failed', text, { details: { line: text, port: 1 } }), 'a')
    expect(told.status).toBe(500)
    expect(told.error.message).toBe(expected)
    expect(told.error.details).toEqual({ line: expected, port: 1 })
  })

  // It was told as a mistake in settings (503), without the sample.
  it('an engine that answers garbage is told with its sample and the setting', () => {
    const details = { slot: 'a', sample: 'GGGG', setting: 'output_sanity' }
    const told = publicSlotError(Hal0Error.of('slot.output_sanity_failed', 'it says "GGGG"', { details }), 'a')
    expect([told.status, told.error.code, told.error.message]).toEqual([
      500,
      'slot.output_sanity_failed',
      'it says "GGGG"',
    ])
    expect(told.error.details).toEqual(details)
  })
})
