import { expect, it } from 'vitest'
import { findBodyMistake, findBrokenText } from './find-body-mistake.ts'

const nested = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth)

it.each([
  ['{"a": {"b": [1, null, "x"]}}', undefined],
  ['1', undefined],
  [nested(32, '[', ']'), undefined],
  [nested(34, '[', ']'), /more than 32 levels/],
  // Walking this by recursion exhausted the stack.
  [`${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`, /more than 32 levels/],
  ['{"__proto__": 1}', /"__proto__"/],
  ['{"a": [{"__proto__": {}}]}', /"__proto__"/],
  ['{"constructor": {"prototype": 1}}', undefined],
] as const)('%.40s', (text, expected) => {
  const found = findBodyMistake(JSON.parse(text))
  if (expected === undefined) expect(found).toBeUndefined()
  else expect(found).toMatch(expected)
})

it.each([
  ['{"a": ["x", {"b": "\\ud800"}]}', ['a.1.b']],
  ['"\\udc00\\ud800"', ['']],
  ['{"a": ["\\udc00"], "b": {"\\ud800": 1}}', ['a.0', 'b.\\ud800']],
  ['{"\\ud800": "\\ud800"}', ['\\ud800', '\\ud800']],
  ['{"a": "\\ud83d\\ude00", "b": 1, "c": null}', []],
])('half of a character in %s', (text, params) => {
  expect(findBrokenText(JSON.parse(text)).map(({ param }) => param)).toEqual(params)
})
