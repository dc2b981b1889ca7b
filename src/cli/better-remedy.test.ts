import { describe, expect, it } from 'vitest'
import { ClientError } from '../client/client-errors.ts'
import { withSlotRemedy } from './better-remedy.ts'
import { describeError, errorLines } from './describe-error.ts'

const clientError = (code: string, remedy: string, slot: string, message = 'it is so') =>
  new ClientError({ code, type: 'not_found_error', message, status: 404, remedy, details: { slot, remedy } })

describe('a slot that is not there', () => {
  it('is made by reseed when it is one that hal0 brings', () => {
    const told = describeError(clientError('slot.not_found', 'List the slots.', 'img'))
    expect(told.remedy).toBe(
      'A slot of this name comes with hal0: `hal0 slot reseed img` makes it. `hal0 slot list` shows those there are.',
    )
    expect(told.body.error['details']).toMatchObject({ slot: 'img', remedy: told.remedy })
    expect(describeError(clientError('slot.not_found', 'List the slots.', 'mine')).remedy).toBe('List the slots.')
  })
})

describe('a slot without a model', () => {
  const failure = clientError('slot.not_ready', '`hal0 model list` shows the ids.', 'x')

  it.each([
    ['comfyui', 'Bind one: `hal0 slot edit x --model CHECKPOINT`, a checkpoint, by the name that ComfyUI has for it.'],
    ['flm', 'Bind one: `hal0 slot edit x --model TAG`, a tag that `flm list` shows.'],
  ])('%s: is not sent to a list that does not have its models', (runner, remedy) => {
    const told = describeError(withSlotRemedy(failure, { name: 'x', runner }))
    expect(told).toMatchObject({ message: 'it is so', code: 'slot.not_ready', remedy, exitCode: 1 })
    expect(told.body.error).toMatchObject({ type: 'not_found_error', details: { remedy, slot: 'x' } })
  })

  it('others stay as they are', () => {
    expect(withSlotRemedy(failure, { name: 'x', runner: 'cpu' })).toBe(failure)
    const other = clientError('slot.not_ready', 'Load it.', 'x')
    expect(withSlotRemedy(other, { name: 'x', runner: 'flm' })).toBe(other)
  })
})

it('a remedy that the message holds already is not told twice', () => {
  const told = (message: string) => errorLines(describeError(clientError('slot.not_ready', 'Load it.', 'x', message)))
  expect(told('slot x is off; load it')).toBe('hal0: slot x is off; load it (slot.not_ready)\n')
  expect(told('slot x is off')).toBe('hal0: slot x is off (slot.not_ready)\n  Load it.\n')
})
