// `npm start`: builds dist/ when it is missing or older than src/, then runs `hal0 quickstart` with the same arguments in this process
// (no process in between that could get lost on Ctrl-C).
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const main = join(root, 'dist/cli/main.js')
const compiler = join(root, 'node_modules/.bin/tsc')
/** What a build needs; `npm ci --omit=dev` leaves it out (another package may bring a compiler of some version, which is not enough). */
const buildTools = ['typescript', '@types/node']

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

/** Are the build's tools here in the versions that package.json asks for? */
function canBuild() {
  const wanted = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).devDependencies
  return buildTools.every((name) => {
    const path = join(root, 'node_modules', name, 'package.json')
    return existsSync(path) && JSON.parse(readFileSync(path, 'utf8')).version === wanted[name]
  })
}

function build() {
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
if (!existsSync(join(root, 'node_modules'))) fail('nothing is installed yet.\n  Run `npm ci` first.')
if (!existsSync(main)) {
  if (!canBuild()) {
    fail(
      'dist/ is not built, and the tools that build it are not installed (--omit=dev?).\n  Run `npm ci && npm run build` once; `npm prune --omit=dev` afterwards removes the tools again.',
    )
  }
  build()
} else if (statSync(main).mtimeMs < newestSourceMs()) {
  if (canBuild()) build()
  else
    process.stderr.write(
      'hal0: warning: src/ is newer than dist/, and the build tools of package.json are not installed (`npm ci` brings them): dist/ is used as it is\n',
    )
}

// npm changes to the package folder; paths that were typed are meant from where npm was called.
const typedIn = process.env.INIT_CWD
if (typedIn && existsSync(typedIn)) process.chdir(typedIn)
process.argv = [process.argv[0], main, 'quickstart', ...process.argv.slice(2)]
await import(pathToFileURL(main).href)
