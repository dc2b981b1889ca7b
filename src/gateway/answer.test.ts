import { expect, it } from 'vitest'
import { Hal0Error } from '../kernel/errors.ts'
import { noteFailure } from './answer.ts'
import type { ExchangeFacts } from './exchange.ts'

it.each([
  ['no cause', undefined, 'no program'],
  ['a cause that says more', new Error('/opt/x: no program'), 'no program (/opt/x: no program)'],
  // The log had the sentence twice.
  ['a cause that says the same', new Error('no program'), 'no program'],
  ['a cause without words', new Error(''), 'no program'],
])('the record of a failure with %s', (_name, cause, detail) => {
  const facts: ExchangeFacts = {}
  noteFailure({ facts }, Hal0Error.of('slot.spawn_failed', 'no program', cause === undefined ? {} : { cause }))
  expect(facts).toEqual({ failure: 'slot.spawn_failed', detail })
})
