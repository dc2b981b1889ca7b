import { describe, expect, it } from 'vitest'
import { homeAt } from '../files/home.ts'
import { typedAs, welcomeText } from './quickstart-text.ts'
import { slotWarnings } from './slot-warnings.ts'

const ROW = {
  name: 'agent',
  state: 'ready',
  model_id: 'hello',
  runner: 'embedded',
  message: '',
  failure: null,
} as const

describe('typedAs', () => {
  it.each([
    ['/usr/local/bin/hal0', '/srv', false, 'hal0 quickstart', 'hal0'],
    ['/srv/hal0/dist/cli/main.js', '/srv/hal0', true, 'npm start --', 'node dist/cli/main.js'],
    ['/srv/my hal0/dist/cli/main.js', '/tmp', true, 'npm start --', "node '/srv/my hal0/dist/cli/main.js'"],
    ['/a/main.js', '/a', false, 'node main.js quickstart', 'node main.js'],
  ])('%s in %s (npm start: %s) → %s, %s', (script, folder, isNpmStart, quickstart, hal0) => {
    expect(typedAs(script, folder, isNpmStart)).toEqual({ quickstart, hal0 })
  })
})

describe('welcomeText', () => {
  const facts = { url: 'http://127.0.0.1:8080', home: homeAt('/h'), row: ROW, isOpen: true }
  const typed = { quickstart: 'npm start --', hal0: 'hal0' }

  it('names commands without flags where none are needed', () => {
    const text = welcomeText({ ...facts, typed, homeFlag: undefined, portFlag: undefined })
    expect(text).toMatch(/^ {2}hal0 chat\n {2}hal0 slot list$/m)
    expect(text).toContain('  npm start -- --model /path/to/your.gguf\n')
    expect(text).toContain('no API key needed from this machine')
    const later = welcomeText({ ...facts, typed, homeFlag: undefined, portFlag: undefined, isOpen: false })
    expect(later).toContain('with the API key of a user, here in HAL0_API_KEY')
    // Without the key the printed line was 401.
    expect(later).toContain('/v1/chat/completions -H "Authorization: Bearer $HAL0_API_KEY" -H ')
    expect(text).not.toContain('Authorization')
    expect(text).toMatch(/^ {2}curl -sS -w '\\n' http:\/\/127\.0\.0\.1:8080\/v1\//m)
  })

  it('keeps the home and the port that were given', () => {
    const text = welcomeText({ ...facts, typed, homeFlag: "/it's", portFlag: 8123 })
    expect(text).toContain("  hal0 slot list --home '/it'\\''s'\n")
    expect(text).toContain("  npm start -- --home '/it'\\''s' --port 8123 --model /path/to/your.gguf\n")
  })
})

describe('slotWarnings', () => {
  const failure = { code: 'config.invalid', message: 'bad file', cause: null, line: null, remedy: 'mend it', at: '' }

  it.each([
    { name: 'a slot that serves', row: {}, lines: [] },
    { name: 'a slot that nobody loaded', row: { state: 'offline' }, lines: [] },
    { name: 'a file with mistakes', row: { state: 'offline', message: 'wrong' }, lines: ['warning: slot x: wrong'] },
    { name: 'a failed load', row: { state: 'error', failure }, lines: ['warning: slot x: bad file'] },
    { name: 'a slot that loads', row: { state: 'starting', message: 'tries again' }, lines: [] },
  ] as const)('$name', ({ row, lines }) => {
    expect(slotWarnings([{ ...ROW, ...row, name: 'x' }])).toEqual(lines)
    expect(slotWarnings([{ ...ROW, ...row, name: 'x' }], 'x')).toEqual([])
  })
})
