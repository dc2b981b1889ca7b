import { expect, it } from 'vitest'
import { familiarCommand } from './familiar-words.ts'

const isCommand = (noun: string, verb: string) => `${noun} ${verb}` === 'reservation add'

it.each([
  ['ps', 'hal0 slot list'],
  ['lane ls', 'hal0 lane list'],
  ['booking', 'hal0 reservation list'],
  ['bookings', 'hal0 reservation list'],
  ['booking add gpu0', 'hal0 reservation add'],
  ['bookings rm r1', 'hal0 reservation cancel'],
  ['reservations', 'hal0 reservation list'],
  ['lanes', 'hal0 lane list'],
  ['lanes gpu0', 'hal0 lane list'],
  ['users', 'hal0 user list'],
  ['--home /x keys --json', 'hal0 key list'],
  ['reservation bookings', 'hal0 reservation list'],
  ['reservations bookings', 'hal0 reservation list'],
  ['lane bookings gpu0', 'hal0 reservation list'],
  ['lane frobnicate', undefined],
  ['frobnicate', undefined],
])('%s: %s', (line, command) => {
  expect(familiarCommand(line.split(' '), isCommand)).toBe(command)
})
