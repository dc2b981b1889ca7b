import { expect, it } from 'vitest'
import { gateSuite, type Row } from './gate-suite.ts'
import { loadGates, ownGates, toolGates } from './house.ts'

const violations: readonly Row[] = [
  ['an import upwards', 'import direction', 'src/kernel/up.ts', "export { home } from '../files/home.ts'\n"],
  [
    'a type-only import upwards',
    'import direction',
    'src/contract/up.ts',
    "export type { home } from '../files/home.ts'\n",
  ],
  ['a star export upwards', 'import direction', 'src/launch/up.ts', "export * from '../slots/actor.ts'\n"],
  [
    'a dynamic import upwards',
    'import direction',
    'src/launch/lazy.ts',
    "export const lazy = () => import('../slots/actor.ts')\n",
  ],
  [
    'a type query upwards',
    'import direction',
    'src/launch/type.ts',
    "export type Up = typeof import('../slots/actor.ts')\n",
  ],
  ['an upward import spelt .js', 'import direction', 'src/launch/js.ts', "import '../slots/actor.js'\n"],
  [
    'a computed import',
    'import direction',
    'src/launch/computed.ts',
    'export const load = (name: string) => import(name)\n',
  ],
  ['an import of a neighbour', 'import direction', 'src/api/side.ts', "import '../gateway/server.ts'\n"],
  ['the cli reaching past the client', 'import direction', 'src/cli/reach.ts', "import '../slots/actor.ts'\n"],
  ['the composition root imported from below', 'import direction', 'src/slots/root.ts', "import '../daemon.ts'\n"],
  ['node: in the kernel', 'import direction', 'src/kernel/io.ts', "import 'node:fs'\n"],
  ['a package in the contract', 'import direction', 'src/contract/lib.ts', "import 'undici'\n"],
  ['node: in a rule', 'import direction', 'src/slots/rules/io.ts', "import 'node:fs'\n"],
  ['an effect in a rule', 'import direction', 'src/slots/rules/act.ts', "import '../actor.ts'\n"],
  ['product code that uses a test', 'import direction', 'src/slots/aid.ts', "import '../aid.ts'\n"],
  ['an import of nothing', 'import direction', 'src/slots/gone.ts', "import './no-such-file.ts'\n"],
  ['a room outside the table', 'import direction', 'src/attic/box.ts', 'export const box = 1\n'],
  [
    'a timer in a rule',
    'purity of rules',
    'src/slots/rules/timer.ts',
    'export const wait = () => setTimeout(() => 1, 1)\n',
  ],
  ['Date.now in a rule', 'purity of rules', 'src/slots/rules/now.ts', 'export const now = () => Date.now()\n'],
  ['new Date() in a rule', 'purity of rules', 'src/slots/rules/date.ts', 'export const now = () => new Date()\n'],
  [
    'the clock by a detour',
    'purity of rules',
    'src/slots/rules/detour.ts',
    'const { now } = Date\nexport const at = now\n',
  ],
  ['Math.random in a rule', 'purity of rules', 'src/slots/rules/dice.ts', 'export const dice = () => Math.random()\n'],
  [
    'a computed member of Math',
    'purity of rules',
    'src/slots/rules/key.ts',
    "export const dice = () => Math['random']()\n",
  ],
  ['globalThis in a rule', 'purity of rules', 'src/slots/rules/global.ts', 'export const all = globalThis\n'],
  ['eval in a rule', 'purity of rules', 'src/slots/rules/eval.ts', "export const evil = () => eval('1')\n"],
  [
    'state in a rule',
    'purity of rules',
    'src/slots/rules/state.ts',
    'let calls = 0\nexport const count = () => ++calls\n',
  ],
  [
    'a disable without a reason',
    'reasons for exceptions',
    'src/slots/hush.ts',
    '// oxlint-disable-next-line no-var\nvar x = 1\nexport { x }\n',
  ],
  [
    'an expected error without a reason',
    'reasons for exceptions',
    'test/hush.ts',
    "// @ts-expect-error\nexport const x: number = ''\n",
  ],
  ['an ignored error', 'reasons for exceptions', 'scripts/hush.mjs', '// @ts-ignore: whatever\nexport const x = 1\n'],
  ['an ignored format', 'reasons for exceptions', 'src/slots/hush.ts', '// biome-ignore format\nexport const x = 1\n'],
  ['an outdated page', 'printed error page', 'docs/errors.md', '# Errors\n'],
  [
    'a table that says another default',
    'printed configuration page',
    'docs/config.md',
    '<!-- printed: a.toml -->\n| `ageMs` | number | `2` | How old. |\n<!-- end -->\n',
  ],
  [
    'a key without a meaning',
    'printed configuration page',
    'scripts/config-keys.mjs',
    "export const files = { 'a.toml': { module: 'config/file', schema: 'fileSchema', keys: {} } }\n",
  ],
]

const allowed: readonly Row[] = [
  [
    'a disable with a reason',
    'reasons for exceptions',
    'src/slots/ok.ts',
    '// oxlint-disable-next-line no-var -- shows it\nvar x = 1\nexport { x }\n',
  ],
  [
    'an expected error with a reason',
    'reasons for exceptions',
    'src/slots/ok.ts',
    "// @ts-expect-error: shows it\nexport const x: number = ''\n",
  ],
  [
    'names that only look impure',
    'purity of rules',
    'src/slots/rules/names.ts',
    'export interface Plan {\n  Date: string\n}\nexport const read = (plan: Plan) => plan.Date\n',
  ],
  [
    'a date from a number',
    'purity of rules',
    'src/slots/rules/iso.ts',
    'export const iso = (ms: number): Date => new Date(ms)\n',
  ],
  [
    'a type of the contract in a rule',
    'import direction',
    'src/slots/rules/type.ts',
    "export type { rowSchema } from '../../contract/row.ts'\n",
  ],
  [
    'test support in a test beside a rule',
    'import direction',
    'src/slots/rules/next.test.ts',
    "import 'vitest'\nimport '../../../test/support/build.ts'\n",
  ],
]

it('every gate is proven by one of the two suites', async () => {
  expect([...ownGates, ...toolGates].toSorted()).toEqual([...(await loadGates()).keys()].toSorted())
})

await gateSuite(ownGates, {
  violations,
  allowed,
  blind: ['import direction', 'purity of rules', 'printed error page', 'printed configuration page'],
})
