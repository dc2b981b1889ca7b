import { expect, it } from 'vitest'
import { daemonSettingsSchema } from './daemon-settings.ts'
import { choosePublicUrl, showUrl } from './public-url.ts'

it.each([
  ['https://hal0.example.org', 'http://127.0.0.1:8080', 'https://hal0.example.org'],
  ['https://hal0.example.org:8443/', 'http://127.0.0.1:8080', 'https://hal0.example.org:8443'],
  [undefined, 'http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
  [undefined, 'http://192.168.1.7:8080', 'http://192.168.1.7:8080'],
  [undefined, 'http://0.0.0.0:8080', 'http://rack1:8080'],
  [undefined, 'http://[::]:8080', 'http://rack1:8080'],
  [undefined, 'http://0.0.0.0', 'http://rack1'],
  [undefined, 'http://[::1]:8080', 'http://[::1]:8080'],
  [undefined, '', ''],
])('public_url %s, listening on %s: %s', (setting, listens, expected) => {
  expect(choosePublicUrl(setting, listens, 'rack1')).toBe(expected)
  expect(showUrl(choosePublicUrl(setting, listens, 'rack1'), 'other')).toBe(expected)
})

it.each([
  ['http://hal0.lan', true],
  ['https://hal0.lan:8443', true],
  ['https://hal0.lan/', true],
  ['http://[fd00::1]:80', true],
  ['https://hal0.lan/hal0', false],
  ['https://hal0.lan/?a', false],
  ['https://anna:secret@hal0.lan', false],
  ['https://hal0.lan#x', false],
  ['ftp://hal0.lan', false],
  ['hal0.lan:8080', false],
  ['http://0.0.0.0:8080', false],
  ['http://', false],
  ['', false],
])('[server] public_url = %j is taken: %s', (url, isTaken) => {
  expect(daemonSettingsSchema.safeParse({ server: { public_url: url } }).success).toBe(isTaken)
})
