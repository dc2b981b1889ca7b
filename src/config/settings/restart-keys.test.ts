import { expect, it } from 'vitest'
import { changedRestartKeys } from './restart-keys.ts'

it.each([
  ['', '', []],
  ['# mine\n', '[server]\nport = 8080\n', []],
  ['', '[dispatcher]\nload_wait_s = 5\n[models]\nstore = "/m"\n', []],
  ['[server]\nport = 8080\n', '[server]\nport = 8123\nhost = "::1"\n', ['server.host', 'server.port']],
  ['[slots]\non_exit = "keep"\n', '[slots]\nport_range = [9000, 9100]\n', ['slots.port_range', 'slots.on_exit']],
  ['nonsense', '[server]\nport = 1\n', ['server.port']],
])('%j, then %j: %j', (before, after, keys) => {
  expect(changedRestartKeys(before, after)).toEqual(keys)
})
