import { expect, it } from 'vitest'
import { showSample } from './rules/judge-sanity.ts'
import { insaneError } from './slot-failures.ts'

it('what an engine said is escaped once', () => {
  const error = insaneError('agent', { sample: showSample('\n\u0000é'), why: 'it is full of control characters' })
  expect(error.message).toMatch(/: "\\n\\u\{0\}é"$/)
})
