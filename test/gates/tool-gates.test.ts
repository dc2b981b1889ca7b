import { gateSuite, type Row } from './gate-suite.ts'
import { toolGates } from './house.ts'

const violations: readonly Row[] = [
  ['node: in a rule', 'typecheck of rules', 'src/slots/rules/io.ts', "export { readFileSync } from 'node:fs'\n"],
  [
    'a timer in a rule',
    'typecheck of rules',
    'src/slots/rules/timer.ts',
    'export const wait = () => setTimeout(() => 1, 1)\n',
  ],
  ['process in a rule', 'typecheck of rules', 'src/slots/rules/env.ts', 'export const path = process.env\n'],
  [
    'a floating promise',
    'lint',
    'src/slots/float.ts',
    'const later = async () => 1\nexport const go = () => {\n  later()\n}\n',
  ],
  [
    'a promise where none is awaited',
    'lint',
    'src/slots/misuse.ts',
    'export const all = (list: number[]) => list.forEach(async (one) => void one)\n',
  ],
  ['any', 'lint', 'src/slots/any.ts', 'export const loose = (value: any): unknown => value\n'],
  ['a non-null assertion', 'lint', 'src/slots/bang.ts', 'export const first = (list: number[]): number => list[0]!\n'],
  ['a default export', 'lint', 'src/slots/default.ts', 'export default 1\n'],
  ['console outside the cli', 'lint', 'src/slots/print.ts', "console.log('x')\n"],
  ['a switch that forgets a case', 'lint', 'src/slots/switch.ts', forgetfulSwitch()],
  [
    'a disable that is not needed',
    'lint',
    'src/slots/idle.ts',
    '// oxlint-disable-next-line no-var -- not needed\nexport const x = 1\n',
  ],
  ['a file that is too long', 'lint', 'src/slots/long.ts', 'export const a = 1\n'.concat('//\n'.repeat(300))],
  ['an enum', 'typecheck', 'src/slots/enum.ts', 'export enum State {\n  On,\n}\n'],
  [
    'an unchecked index',
    'typecheck',
    'src/slots/index.ts',
    'export const first = (list: number[]): number => list[0]\n',
  ],
  ['a type error', 'build', 'src/slots/wrong.ts', "export const wrong: number = 'text'\n"],
  ['bad format', 'format', 'src/slots/ugly.ts', 'export const   ugly = "double";\n'],
  [
    'unsorted imports',
    'format',
    'src/slots/order.ts',
    "import './rules/next.ts'\nimport '../files/home.ts'\nimport { a } from './b.ts'\nimport { z } from 'zod'\n",
  ],
  ['an unused export', 'dead code', 'src/files/home.ts', "export const home = '/'\nexport const unused = 1\n"],
  ['an unused file', 'dead code', 'src/files/orphan.ts', 'export const orphan = 1\n'],
  ['an unlisted package', 'dead code', 'src/cli/main.ts', "import 'not-listed'\n"],
]

const allowed: readonly Row[] = [
  ['console in the cli', 'lint', 'src/cli/print.ts', "console.log('x')\n"],
  [
    'an export that only its file uses',
    'dead code',
    'src/files/home.ts',
    "export const root = '/'\nexport const home = root + 'x'\n",
  ],
]

await gateSuite(toolGates, { violations, allowed, blind: ['build', 'typecheck', 'typecheck of rules', 'lint'] })

function forgetfulSwitch(): string {
  return "export function f(x: 'a' | 'b'): number {\n  switch (x) {\n    case 'a':\n      return 1\n  }\n  return 0\n}\n"
}
