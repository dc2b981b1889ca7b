import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const repository = fileURLToPath(new URL('../..', import.meta.url))

/** Gates that are scripts of this repository, and gates that are settings of tools. */
export const ownGates = [
  'import direction',
  'purity of rules',
  'reasons for exceptions',
  'printed error page',
  'printed configuration page',
]
export const toolGates = ['build', 'typecheck', 'typecheck of rules', 'lint', 'format', 'dead code']

/** One file in every room that stands, as small as the gates allow. */
const cleanFiles: Readonly<Record<string, string>> = {
  'src/kernel/units.ts': 'export const secondMs = 1000\n',
  'src/contract/row.ts':
    "import { z } from 'zod'\nimport { secondMs } from '../kernel/units.ts'\n\nexport const rowSchema = z.object({ ageMs: z.number().min(secondMs) })\n",
  'src/files/home.ts': "export const home = '/'\n",
  'src/hardware/gpus.ts': 'export const gpus = 0\n',
  'src/runtimes/process.ts': 'export const processes = 0\n',
  'src/store/store.ts': 'export const stores = 0\n',
  'src/runners/embedded/server.ts':
    "import { processes } from '../../runtimes/process.ts'\n\nprocess.exitCode = processes\n",
  'src/models/facts.ts': 'export const facts = 0\n',
  'src/events/bus.ts': 'export const events = 0\n',
  'src/access/guard.ts': 'export const guards = 0\n',
  'src/client/client.ts': 'export const clients = 0\n',
  'src/launch/plan.ts': 'export const plans = 0\n',
  'src/config/file.ts':
    "import { z } from 'zod'\n\nexport const fileSchema = z.strictObject({ ageMs: z.number().default(1) })\nexport const configs = fileSchema.parse({}).ageMs\n",
  'scripts/config-keys.mjs':
    "export const files = {\n  'a.toml': { module: 'config/file', schema: 'fileSchema', keys: { ageMs: 'How old.' } },\n}\n",
  'docs/config.md':
    '<!-- printed: a.toml -->\n| key | type | default | meaning |\n|---|---|---|---|\n| `ageMs` | number | `1` | How old. |\n<!-- end -->\n',
  'src/slots/rules/next.ts':
    "import type { rowSchema } from '../../contract/row.ts'\nimport { secondMs } from '../../kernel/units.ts'\n\nexport function nextAt(nowMs: number, row: typeof rowSchema): string {\n  return new Date(Date.UTC(2026, 0) + Math.max(nowMs, secondMs)).toISOString() + row.type\n}\n",
  'src/slots/actor.ts':
    "import { rowSchema } from '../contract/row.ts'\nimport { facts } from '../models/facts.ts'\nimport { nextAt } from './rules/next.ts'\n\nexport const actor = nextAt(Date.now() + facts, rowSchema)\n",
  'src/gateway/server.ts':
    "import { guards } from '../access/guard.ts'\nimport { actor } from '../slots/actor.ts'\n\nexport const gateway = actor + String(guards)\n",
  'src/arbiter/arbiter.ts': 'export const arbiters = 0\n',
  'src/lanes/lane.ts': 'export const lanes = 0\n',
  'src/metrics/metrics.ts': "import { stores } from '../store/store.ts'\n\nexport const metrics = stores\n",
  'src/api/app.ts':
    "import { events } from '../events/bus.ts'\nimport { metrics } from '../metrics/metrics.ts'\n\nexport const api = events + metrics\n",
  'src/version.ts': 'export const version = 0\n',
  'src/daemon-log.ts': 'export const log = 0\n',
  'src/fleet.ts': 'export const fleets = 0\n',
  'src/simulator.ts': "import { lanes } from './lanes/lane.ts'\n\nexport const simulator = lanes\n",
  'src/live-runners.ts': 'export const runners = 0\n',
  'src/management.ts': 'export const management = 0\n',
  'src/gateway-wiring.ts': 'export const wiring = 0\n',
  'src/timetable.ts': 'export const timetables = 0\n',
  'src/access-wiring.ts': 'export const doors = 0\n',
  'src/front-door.ts': "import { version } from './version.ts'\n\nexport const door = version\n",
  'src/daemon.ts':
    "import { doors } from './access-wiring.ts'\nimport { api } from './api/app.ts'\nimport { arbiters } from './arbiter/arbiter.ts'\nimport { log } from './daemon-log.ts'\nimport { fleets } from './fleet.ts'\nimport { door } from './front-door.ts'\nimport { gateway } from './gateway/server.ts'\nimport { wiring } from './gateway-wiring.ts'\nimport { type ErrorCode, errorRegistry } from './kernel/error-registry.ts'\nimport { lanes } from './lanes/lane.ts'\nimport { plans } from './launch/plan.ts'\nimport { runners } from './live-runners.ts'\nimport { management } from './management.ts'\nimport { timetables } from './timetable.ts'\n\nconst code: ErrorCode = 'internal'\nexport const daemon =\n  gateway +\n  String(api + arbiters + fleets + lanes + plans + log + door + runners + management + wiring + doors + timetables) +\n  errorRegistry[code].remedy\n",
  'src/cli/main.ts':
    "import { clients } from '../client/client.ts'\nimport { configs } from '../config/file.ts'\nimport { daemon } from '../daemon.ts'\nimport { home } from '../files/home.ts'\nimport { gpus } from '../hardware/gpus.ts'\nimport { simulator } from '../simulator.ts'\n\nprocess.stdout.write(daemon + home + String(clients + configs + gpus + simulator))\n",
}

const configuration = ['.oxlintrc.json', 'biome.json', 'knip.jsonc', 'vitest.config.ts']
const compilerOptions = ['tsconfig.base.json', 'tsconfig.build.json', 'tsconfig.json', 'tsconfig.rules.json']
/** The checkers themselves, and the two files that the error page is about. */
const checkers = ['scripts', 'src/kernel/error-registry.ts', 'docs/errors.md', 'test/support/build.ts']

/** A temporary checkout on which a gate can be tried. */
export interface House {
  /** Writes a file (folders are made), runs the gate, takes the file back (or restores what stood there). */
  tryWith(path: string, text: string, gate: string): GateResult
  run(gate: string): GateResult
  /** Removes a file or folder for good. */
  remove(path: string): void
  /** Removes the checkout. */
  close(): void
}

export interface GateResult {
  readonly exitCode: number | null
  /** Both streams. */
  readonly output: string
}

/** The commands of `npm run check` by name, read from where `npm test` takes them. */
export async function loadGates(): Promise<ReadonlyMap<string, readonly string[]>> {
  const path: string = join(repository, 'scripts/gates/checks.mjs')
  const { checks } = (await import(path)) as { checks: readonly { name: string; command: readonly string[] }[] }
  return new Map(checks.map(({ name, command }) => [name, command]))
}

/** A clean house with this repository's own configuration, in a temporary folder. */
export function makeHouse(gates: ReadonlyMap<string, readonly string[]>): House {
  const root = mkdtempSync(join(tmpdir(), 'hal0-house-'))
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  for (const path of [...configuration, ...compilerOptions, ...checkers])
    cpSync(join(repository, path), join(root, path), { recursive: true })
  for (const [path, text] of Object.entries(cleanFiles)) write(path, text)
  symlinkSync(join(repository, 'node_modules'), join(root, 'node_modules'))
  write('package.json', packageText())
  const run = (gate: string): GateResult => {
    const [program, ...args] = gates.get(gate) ?? []
    if (program === undefined) throw new Error(`there is no gate '${gate}'; there are: ${[...gates.keys()].join(', ')}`)
    const { status, stdout, stderr } = spawnSync(program, args, {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    return { exitCode: status, output: stdout + stderr }
  }
  return {
    run,
    tryWith(path, text, gate) {
      const before = cleanFiles[path]
      write(path, text)
      try {
        return run(gate)
      } finally {
        if (before === undefined) rmSync(join(root, path))
        else write(path, before)
      }
    },
    remove: (path) => rmSync(join(root, path), { recursive: true, force: true }),
    close: () => rmSync(root, { recursive: true, force: true }),
  }
}

/** The repository's package.json with only what the small house uses, so that the dead-code gate starts clean. */
function packageText(): string {
  const { dependencies, devDependencies, ...rest } = JSON.parse(
    readFileSync(join(repository, 'package.json'), 'utf8'),
  ) as {
    dependencies: Record<string, string>
    devDependencies: Record<string, string>
  }
  const tools = ['@biomejs/biome', '@types/node', 'knip', 'oxlint', 'oxlint-tsgolint', 'typescript', 'vite', 'vitest']
  return `${JSON.stringify({ ...rest, dependencies: pick(dependencies, ['zod']), devDependencies: pick(devDependencies, tools) }, null, 2)}\n`
}

function pick(all: Record<string, string>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)))
}
