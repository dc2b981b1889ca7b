import { describe, expect, it } from 'vitest'
import { parseScenario } from './read-scenario.ts'

const FINE = `
start = "2026-12-01T08:00"
[models.small]
size_gb = 4.5
[lanes.gpu0]
default = { model = "small" }
`

function mistakesOf(text: string): readonly string[] {
  const read = parseScenario('day.toml', text)
  return read.ok ? [] : read.error.map(({ keyPath, expected }) => `${keyPath}: ${expected}`)
}

const booking = (more: string) => `${FINE}[[bookings]]\nlane = "gpu0"\nuser = "ada"\nstart = "10:00"\n${more}\n`
const step = (more: string) => `${booking('minutes = 60')}[[do]]\nat = "10:00"\n${more}\n`
const KINDS = 'end, cancel, approve, reject, extend, manual, clear, crash, request, clock_jump_s'

describe('parseScenario', () => {
  it.each([
    ['a day', FINE],
    ['times of TOML', booking('end = 11:00:00').replace('"2026-12-01T08:00"', '2026-12-01T08:00:00+01:00')],
    ['a later booking', booking('minutes = 60').replace('"10:00"', '"2026-12-24T10:00"')],
    ['one of a repeat', step('end = "r1-2"')],
    [
      'hours of one digit, as the command line does',
      booking('end = "2026-12-01T9:30"').replace('"10:00"', '"9:00"').replace('T08:00', ' 8:00'),
    ],
  ])('takes %s', (_name, text) => {
    expect(mistakesOf(text)).toEqual([])
  })

  it.each([
    ['no TOML', 'start =', /^line 1, column \d+: not valid TOML/],
    ['no lanes', 'start = "2026-12-01T08:00"', /^lanes: expected (a table|at least one lane)/],
    ['a start without a day', FINE.replace('2026-12-01T', ''), /^start: expected the day too/],
    // What it offers has to be a form that a start may have.
    [
      'a start that is no time',
      FINE.replace('2026-12-01T08:00', 'soon'),
      /^start: expected a day and a time, such as "2026-12-01T08:00" or/,
    ],
    ['no such day', FINE.replace('12-01', '02-30'), /^start: .*a time that exists/],
    ['no such zone', `time_zone = "Europe/Bonn"${FINE}`, 'time_zone: expected a time zone such as Europe/Berlin'],
    ['no length', `hours = 0${FINE}`, 'hours: expected more than 0'],
    ['too long', `hours = 745${FINE}`, 'hours: expected at most 744 hours after the start'],
    ['hours and an end', `hours = 1\nend = "12:00"${FINE}`, 'end: expected either hours or end'],
    ['an end before the start', `end = "07:00"${FINE}`, 'end: expected a time after the start'],
    ['an unknown key', `hour = 3${FINE}`, 'hour: unknown key; did you mean hours?'],
    [
      'an unknown key of a lane',
      `${FINE}aproval = "required"`,
      'lanes.gpu0.aproval: unknown key; did you mean approval?',
    ],
    [
      'an unknown key of a booking',
      booking('minutes = 60\nmodle = "small"'),
      'bookings.r1.modle: unknown key; did you mean model?',
    ],
    [
      'a GPU in two lanes',
      `${FINE}[lanes.gpu1]\ndevice = "gpu-cuda"\ngpus = [0]\n[lanes.gpu2]\ndevice = "gpu-cuda"\ngpus = [1, 0]`,
      'lanes.gpu2.gpus: GPU 0 belongs to lane "gpu1" (lanes.gpu1) and to lane "gpu2" (lanes.gpu2): take it out of one',
    ],
    [
      'a lane without its GPUs',
      `${FINE}device = "gpu-cuda"`,
      'lanes.gpu0.gpus: expected the GPUs of the lane, for example [0]: it runs on gpu-cuda',
    ],
    ['a setting', `${FINE}[scheduler]\ntick_seconds = 0`, 'scheduler.tick_seconds: expected 0.1 or more'],
    [
      'a default that is no model',
      FINE.replace('"small" }', '"smal" }'),
      'lanes.gpu0.default.model: nothing under models is called "smal"; did you mean small?',
    ],
    [
      'another lane',
      booking('minutes = 60').replace('lane = "gpu0"', 'lane = "gpu1"'),
      'bookings.r1.lane: nothing under lanes is called "gpu1"; did you mean gpu0?',
    ],
    [
      'a booking of a name of its own',
      booking('minutes = 60\nid = "desk"\nmodle = "small"'),
      'bookings.desk.modle: unknown key; did you mean model?',
    ],
    [
      'the name of one that has none',
      `${booking('minutes = 60\nid = "r2"')}[[bookings]]\nlane = "gpu0"\nuser = "ada"\nstart = "12:00"\nminutes = 5`,
      'bookings.r2.id: another booking is called "r2"',
    ],
    // It was no mistake, and the day could not be played.
    ['an end that is no time', `end = "25:00"${FINE}`, 'end: there is no time "25:00"'],
    [
      'the file of a lane',
      'device = "cpu"\n[default]\nmodel = "small"\n[limits]\nmax_hours = 4',
      ': this is the file of a lane; expected a scenario: one with `start`, in which such keys stand under [lanes.NAME]',
    ],
    ['neither end nor minutes', booking(''), 'bookings.r1.end: expected either end or minutes'],
    ['both', booking('minutes = 5\nend = "11:00"'), 'bookings.r1.end: expected either end or minutes'],
    ['an end before its start', booking('end = "10:00"'), 'bookings.r1.end: expected a time after its start'],
    ['no time', booking('minutes = 5\nbooked_at = "25:00"'), 'bookings.r1.booked_at: there is no time "25:00"'],
    [
      'booked before the day',
      booking('minutes = 5\nbooked_at = "07:59"'),
      'bookings.r1.booked_at: expected a time between start and end of the whole',
    ],
    [
      'exclusive with a model',
      booking('minutes = 60\nexclusive = true\nmodel = "small"'),
      'bookings.r1.exclusive: an exclusive booking loads no model: leave out one of the two',
    ],
    [
      'two of a name',
      `${booking('minutes = 60\nid = "a"')}[[bookings]]\nlane = "gpu0"\nuser = "ada"\nstart = "12:00"\nminutes = 5\nid = "a"`,
      'bookings.r2.id: another booking is called "a"',
    ],
    ['a step that does nothing', step(''), `do.1: expected one of ${KINDS}, and there is none`],
    [
      'a step that does two',
      step('end = "r1"\ncancel = "r1"'),
      `do.1: expected one of ${KINDS}, and there are end and cancel`,
    ],
    ['a step of no booking', step('end = "r2"'), 'do.1.end: nothing under bookings is called "r2"; did you mean r1?'],
    [
      'a step after the end',
      step('end = "r1"').replace('at = "10:00"', 'at = "2026-12-02T08:01"'),
      'do.1.at: expected a time between start and end of the whole',
    ],
  ])('%s', (_name, text, expected) => {
    expect(mistakesOf(text)).toEqual([typeof expected === 'string' ? expected : expect.stringMatching(expected)])
  })

  it('tells mistakes of form and of names together', () => {
    const text = `${step('manual = { lane = "gpu1", until = 5 }')}colour = "red"`
    expect(mistakesOf(text)).toEqual([
      expect.stringMatching(/^do\.1\.manual\.until: expected a time such as/),
      expect.stringMatching(/^do\.1\.colour: unknown key; known are at, end/),
      'do.1.manual.lane: nothing under lanes is called "gpu1"; did you mean gpu0?',
    ])
  })
})

it('times are looked at also while nobody can say when the day begins', () => {
  const text = `end = "12:00"\nhours = 3${booking('end = "25:00"')}[[bookings]]\nlane = "gpu0"\nuser = "ada"\nstart = "12:00"\nend = "11:00"`
  expect(mistakesOf(text.replace('"2026-12-01T08:00"', '"soon"'))).toEqual([
    expect.stringMatching(/^start: expected a day and a time/),
    'end: expected either hours or end',
    'bookings.r1.end: there is no time "25:00"',
    'bookings.r2.end: expected a time after its start',
  ])
})

it('a clock that jumps makes no look more often than once a second', () => {
  const tickOf = (more: string) => {
    const read = parseScenario('day.toml', `${step(more)}[scheduler]\ntick_seconds = 0.1`)
    return read.ok ? read.value.scheduler.tickMs : read.error
  }
  expect([tickOf('clock_jump_s = 5'), tickOf('crash = { lane = "gpu0" }')]).toEqual([1_000, 30_000])
})
