import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { launchRequest } from '../../../test/support/launch-request.ts'
import { argvOf } from '../../contract/launch-plan.ts'
import type { Dialect } from '../../contract/runner.ts'
import { assembleLaunch } from './assemble-launch.ts'
import { lookUpFlag, tableOf } from './look-up-flag.ts'
import { readFlags } from './read-flags.ts'

/** What each engine is told by hal0 alone, as its own parser would have it in the end. */
const MANAGED: Readonly<Record<Exclude<Dialect, 'template'>, Readonly<Record<string, string>>>> = {
  'llama-server': {
    '--host': '127.0.0.1',
    '--port': '8081',
    '--model': '/m/a.gguf',
    '--alias': 'agent',
    '--ctx-size': '4096',
  },
  vllm: { '--host': '127.0.0.1', '--port': '8081', '--served-model-name': 'agent', '--max-model-len': '4096' },
  sglang: {
    '--host': '127.0.0.1',
    '--port': '8081',
    '--model-path': '/m/a.gguf',
    '--served-model-name': 'agent',
    '--context-length': '4096',
  },
  flm: { '--host': '127.0.0.1', '--port': '8081', '--ctx-len': '8192' },
}
const NEVER = [
  '--api-key',
  '--api-key-file',
  '--model-url',
  '--hf-repo',
  '--config',
  '--log-file',
  '--rpc',
  '--uds',
  '--middleware',
]
const VALUES = [
  '1',
  '-1',
  '0.0.0.0',
  '9999',
  '/evil',
  '',
  'a b',
  '{"a": 1}',
  '-',
  '--',
  '#',
  'on',
  '--port=1',
  '-=',
  '=',
]
const DIALECTS = ['llama-server', 'vllm', 'sglang', 'flm'] as const

function wordsFor(dialect: Dialect) {
  const names = [...tableOf(dialect).byName.keys(), '--unknown', '--no-unknown', '-zz', '--mod', '--po', '--served']
  const name = fc.constantFrom(...names)
  const value = fc.oneof(fc.constantFrom(...VALUES), fc.string())
  const under = name.map((one) => one.replaceAll('-', '_').replace(/^__/, '--'))
  const equals = fc.tuple(fc.oneof(name, under), fc.oneof(value, name)).map(([one, other]) => `${one}=${other}`)
  // Mostly what an engine could read, so that most commands are assembled.
  const readable = fc.tuple(fc.oneof(name, under), value, value).map(([one, first, second]) => {
    const { values } = lookUpFlag(one, dialect)
    const rest = [first, second].slice(0, typeof values === 'number' ? values : 1)
    return [one, ...rest]
  })
  const wild = fc.oneof(name, value, under, equals).map((word) => [word])
  return fc
    .array(fc.oneof({ weight: 8, arbitrary: readable }, { weight: 1, arbitrary: wild }), { maxLength: 8 })
    .map((parts) => parts.flat())
}

/** The engine's parser, written on its own: llama-server takes the next words blindly, argparse takes beginnings and `=`. */
function parseAsEngine(argv: readonly string[], dialect: Exclude<Dialect, 'template'>): ReadonlyMap<string, string> {
  const told = new Map<string, string>()
  const { byName } = tableOf(dialect)
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? ''
    if (dialect === 'llama-server') {
      const facts = byName.get(word.startsWith('--') ? word.replaceAll('_', '-') : word)
      const count = typeof facts?.values === 'number' ? facts.values : 0
      if (facts !== undefined) told.set(facts.canonical, argv.slice(at + 1, at + 1 + count).join(' '))
      at += count
    } else if (word.startsWith('-')) {
      const [name = '', inline] = word.split(/=(.*)/s)
      const plain = name.startsWith('--') ? name.replaceAll('_', '-') : name
      const exact = byName.get(plain)
      const begun =
        plain.length > 2 ? [...byName].filter(([known]) => known.startsWith(plain)).map(([, facts]) => facts) : []
      for (const facts of exact === undefined ? begun : [exact]) told.set(facts.canonical, inline ?? argv[at + 1] ?? '')
    }
  }
  return told
}

describe.each(DIALECTS)('assembleLaunch of %s, whatever words a profile holds', (dialect) => {
  const engine = { key: dialect, dialect, command: ['/usr/bin/engine'] } as const
  const assemble = (flags: readonly string[]) => assembleLaunch(launchRequest({ engine, profile: { flags } }))

  it('never throws, and leaves what hal0 manages as it is', () => {
    fc.assert(
      fc.property(wordsFor(dialect), (words) => {
        const launch = assemble(words)
        if (!launch.ok) {
          expect(launch.error.code).toBe('slot.config_error')
          return
        }
        const told = parseAsEngine(argvOf(launch.value.plan).slice(1), dialect)
        for (const [flag, value] of Object.entries(MANAGED[dialect]))
          expect([flag, told.get(flag)]).toEqual([flag, value])
        for (const flag of NEVER) expect(told.has(flag)).toBe(false)
      }),
      { numRuns: 2000 },
    )
  })

  it('has each flag that does not repeat once, with its last value', () => {
    fc.assert(
      fc.property(wordsFor(dialect), (words) => {
        const launch = assemble(words)
        if (!launch.ok) return
        const { plan, canonicals = [] } = launch.value
        const own = readFlags(words, dialect)
        for (const [at, canonical] of canonicals.entries()) {
          const planned = plan.flags[at]
          if (planned?.layer !== 'profile' || lookUpFlag(planned.flag, dialect).repeats) continue
          expect(canonicals.filter((other) => other === canonical)).toHaveLength(1)
          expect(planned.values).toEqual(own.findLast(({ known }) => known.canonical === canonical)?.values)
        }
      }),
    )
  })

  it('keeps repeatable flags in their order', () => {
    fc.assert(
      fc.property(wordsFor(dialect), (words) => {
        const launch = assemble(words)
        if (!launch.ok) return
        const written = readFlags(words, dialect).filter(({ known }) => known.repeats && known.owner === 'profile')
        const planned = launch.value.plan.flags.filter(({ flag }) => flag !== '' && lookUpFlag(flag, dialect).repeats)
        expect(planned.map(({ flag, values }) => [flag, ...values])).toEqual(
          written.map(({ flag, values }) => [flag, ...values]),
        )
      }),
    )
  })

  it('accounts for every word: it is in the command or among what was left out', () => {
    fc.assert(
      fc.property(wordsFor(dialect), (words) => {
        const launch = assemble(words)
        if (!launch.ok) return
        const { plan, removed } = launch.value
        const all = [...plan.flags, ...removed]
          .filter(({ layer }) => layer === 'profile')
          .map(({ flag, values }) => [flag, ...values].join('\0'))
        const written = readFlags(words, dialect)
        expect(all.toSorted()).toEqual(written.map(({ flag, values }) => [flag, ...values].join('\0')).toSorted())
        expect(written.flatMap((one) => one.words)).toEqual(words)
      }),
    )
  })
})
