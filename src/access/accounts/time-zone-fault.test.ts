import { expect, it } from 'vitest'
import { findTimeZoneFault } from './time-zone-fault.ts'

it.each([
  ['Europe/Berlin', true],
  ['UTC', true],
  ['america/new_york', true],
  ['Mars/Olympus', false],
  ['+02:00', false],
  ['', false],
])('time zone %s: %s', (zone, isGood) => {
  expect(findTimeZoneFault(zone) === undefined).toBe(isGood)
})
