import { expect, it } from 'vitest'
import { clientOf } from './client-of.ts'

const FOUND = { kind: 'found', url: 'http://127.0.0.1:1', from: 'daemon.json', pid: 1, localKey: 'local' } as const

it.each(['two words', 'line\nline', 'käse', 'a\tb', 'a\u0000b'])('refuses %j as a key, without repeating it', (key) => {
  const act = () => clientOf(FOUND, { HAL0_API_KEY: key })
  expect(act).toThrow(expect.objectContaining({ code: 'usage' }))
  expect(act).not.toThrow(key)
})

it.each([undefined, '', '  ', 'hal0_key', ' hal0_key\n'])('takes %j', (key) => {
  expect(clientOf(FOUND, { HAL0_API_KEY: key }).baseUrl).toBe(FOUND.url)
})
