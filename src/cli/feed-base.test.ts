import { expect, it } from 'vitest'
import { chooseFeedBase } from './feed-base.ts'

it.each([
  ['https://hal0.example.org', 'http://127.0.0.1:8080', 'https://hal0.example.org'],
  ['http://rack1:8080', 'http://0.0.0.0:8080', 'http://rack1:8080'],
  ['http://127.0.0.1:8080', 'http://localhost:8080', 'http://127.0.0.1:8080'],
  ['http://127.0.0.1:8080', 'https://hal0.example.org', 'https://hal0.example.org'],
  [undefined, 'http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
  [undefined, 'http://0.0.0.0:8080', 'http://here:8080'],
])('the daemon says %s, it was reached at %s: %s', (told, reached, base) => {
  expect(chooseFeedBase(told, reached, 'here')).toBe(base)
})
