import { expect, it } from 'vitest'
import { chooseReload } from './choose-reload.ts'
import { chooseStart } from './choose-start.ts'

/** Persisted mode and target, what is up → the mode, and whether the way back goes on. */
it.each([
  ['llm', null, '', 'llm', false],
  ['llm', null, 'img', 'llm', false],
  ['llm', null, 'llm', 'llm', false],
  ['llm', null, 'both', 'llm', false],
  ['llm', 'img', '', 'llm', false],
  ['llm', 'img', 'llm', 'llm', false],
  ['llm', 'img', 'both', 'llm', false],
  ['llm', 'img', 'img', 'img', false],
  ['img', null, 'img', 'img', false],
  ['img', null, 'both', 'img', false],
  ['img', null, '', 'llm', false],
  ['img', null, 'llm', 'llm', false],
  ['img', 'llm', 'img', 'img', true],
  ['img', 'llm', 'both', 'img', true],
  ['img', 'llm', '', 'llm', false],
  ['img', 'llm', 'llm', 'llm', false],
] as const)('%s → %s with %s up: %s', (mode, switching_to, up, expected, goesOn) => {
  const isUp = { isImageUp: up === 'img' || up === 'both', isLlmUp: up === 'llm' || up === 'both' }
  expect(chooseStart({ mode, switching_to }, isUp)).toMatchObject({ mode: expected, goesOn })
})

const row = (name: string, priority: number, last_used_at: string | null = null) => ({ name, priority, last_used_at })
const rows = [
  row('a', 10),
  row('b', 90),
  row('c', 50, '2026-01-01T00:00:00.000Z'),
  row('d', 50, '2026-01-02T00:00:00.000Z'),
]

it.each([
  [[], [], undefined],
  [['a', 'b'], [], 'b'],
  [['a', 'b'], ['a'], 'a'],
  [['a', 'b'], ['d'], 'b'],
  [['c', 'd'], [], 'd'],
  [['gone', 'a'], ['gone'], 'a'],
  [['gone'], [], 'gone'],
])('of %j, with requests for %j, %s is loaded next', (saved, wanted, expected) => {
  expect(chooseReload(saved, new Set(wanted), rows)).toBe(expected)
})
