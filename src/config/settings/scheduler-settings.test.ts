import { expect, it } from 'vitest'
import { daemonSettingsSchema } from './daemon-settings.ts'
import { schedulerSettingsOf } from './scheduler-settings.ts'

const settings = daemonSettingsSchema.parse({ scheduler: { drain_seconds: 7 } })

it('is what hal0.toml says, in ms', () => {
  expect(schedulerSettingsOf(settings, {})).toEqual({
    tickMs: 5_000,
    bufferMs: 60_000,
    drainMs: 7_000,
    stopTimeoutMs: 30_000,
    loadTimeoutMs: 600_000,
    diskReadMbps: 150,
  })
})

it('is what the environment says, where it says something', () => {
  const env = {
    SLOTSERVE_DRAIN_SECONDS: '0',
    SLOTSERVE_STOP_TIMEOUT_SECONDS: ' 2.5 ',
    SLOTSERVE_LOAD_TIMEOUT_SECONDS: '',
    SLOTSERVE_DISK_READ_MBPS: '2000',
  }
  expect(schedulerSettingsOf(settings, env)).toMatchObject({
    drainMs: 0,
    stopTimeoutMs: 2_500,
    loadTimeoutMs: 600_000,
    diskReadMbps: 2_000,
  })
})

it.each([
  ['SLOTSERVE_DRAIN_SECONDS', '-1'],
  ['SLOTSERVE_DRAIN_SECONDS', '30s'],
  ['SLOTSERVE_STOP_TIMEOUT_SECONDS', 'Infinity'],
  ['SLOTSERVE_LOAD_TIMEOUT_SECONDS', '0'],
  ['SLOTSERVE_DISK_READ_MBPS', '0'],
])('refuses %s=%s, naming it', (variable, value) => {
  expect(() => schedulerSettingsOf(settings, { [variable]: value })).toThrow(
    expect.objectContaining({ code: 'config.invalid', message: expect.stringContaining(variable) }),
  )
})

it('tells of all that is wrong at once', () => {
  const env = { SLOTSERVE_DRAIN_SECONDS: 'x', SLOTSERVE_DISK_READ_MBPS: 'y' }
  expect(() => schedulerSettingsOf(settings, env)).toThrow(/DRAIN_SECONDS.*; .*DISK_READ_MBPS/)
})
