// `npm start`: builds dist/ when it is missing or older than src/, then runs `hal0 quickstart` with the same arguments in this process
// (no process in between that could get lost on Ctrl-C).
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const main = join(root, 'dist/cli/main.js')
const compiler = join(root, 'node_modules/.bin/tsc')

function fail(message) {
  process.stderr.write(`hal0: ${message}\n`)
  process.exit(1)
}

/** Newest change of anything that goes into the build, epoch ms; 0 when there is no source (an installed package). */
function newestSourceMs() {
  const folder = join(root, 'src')
  if (!existsSync(folder)) return 0
  const sources = readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => join(folder, name))
  const settings = ['tsconfig.base.json', 'tsconfig.build.json'].map((name) => join(root, name))
  return Math.max(...[...sources, ...settings].filter((path) => existsSync(path)).map((path) => statSync(path).mtimeMs))
}

function build() {
  if (!existsSync(compiler)) {
    fail(
      existsSync(join(root, 'node_modules'))
        ? 'dist/ is not built and the compiler is not installed (--omit=dev?).\n  Run `npm ci && npm run build` once; `npm prune --omit=dev` afterwards removes the compiler again.'
        : 'nothing is installed yet.\n  Run `npm ci` first.',
    )
  }
  process.stderr.write('building hal0 …\n')
  const result = spawnSync(compiler, ['-p', 'tsconfig.build.json', '--noEmitOnError'], { cwd: root, encoding: 'utf8' })
  if (result.status !== 0) {
    fail(
      `the build failed${result.error ? ` (${result.error.message})` : ''}:\n${result.stdout ?? ''}${result.stderr ?? ''}`,
    )
  }
}

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19))
  fail(`this is Node.js ${process.versions.node}; hal0 needs 20.19 or newer`)
if (!existsSync(join(root, 'node_modules'))) build()
if (!existsSync(main) || statSync(main).mtimeMs < newestSourceMs()) build()

// npm changes to the package folder; paths that were typed are meant from where npm was called.
const typedIn = process.env.INIT_CWD
if (typedIn && existsSync(typedIn)) process.chdir(typedIn)
process.argv = [process.argv[0], main, 'quickstart', ...process.argv.slice(2)]
await import(pathToFileURL(main).href)
