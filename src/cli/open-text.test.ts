import { expect, it } from 'vitest'
import { doorTexts } from './open-text.ts'

it.each([
  {
    name: 'nobody is defined',
    setUpToken: 'hal0_setup_x',
    lock: undefined,
    says: [/no user is defined.*once: hal0_setup_x$/s],
  },
  { name: 'users are defined', setUpToken: undefined, lock: undefined, says: [] },
  {
    name: 'it is locked',
    setUpToken: undefined,
    lock: 'Put hal0.db back.',
    says: [/^hal0 is locked\. Put hal0\.db back\.$/],
  },
])('what a daemon says of who may come in: $name', ({ says, ...daemon }) => {
  const texts = doorTexts(daemon)
  expect(texts).toHaveLength(says.length)
  for (const [n, pattern] of says.entries()) expect(texts[n]).toMatch(pattern)
})
