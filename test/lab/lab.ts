import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const labScript = join(root, 'test/lab/lab')

export interface Output {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs the lab's script (see its head); never throws. */
export function lab(...args: readonly string[]): Output {
  return run(labScript, args)
}

/** Runs a command inside the booted host; never throws. */
export function inLab(...command: readonly string[]): Output {
  return lab('exec', '--', ...command)
}

/**
 * Copies what a production install holds (the package's own files, its dependencies without the development ones, and this
 * node) into a folder of the booted host, so that the lab needs neither a registry nor this checkout.
 */
export function installInLab(folder: string): void {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean }>
  }
  // A package for another platform is in the lock but not on this disk.
  const dependencies = Object.keys(packages).filter(
    (path) => path !== '' && packages[path]?.dev !== true && existsSync(join(root, path)),
  )
  const files = ['package.json', 'dist', 'models', ...dependencies]
  const pipe = 'set -o pipefail; lab=$1 root=$2 folder=$3; shift 3; tar -C "$root" -c "$@"'
  const made = inLab('mkdir', '-p', folder)
  const copied = run('bash', [
    '-c',
    `${pipe} | "$lab" exec -- tar -C "$folder" -x`,
    'copy',
    labScript,
    root,
    folder,
    ...files,
  ])
  const node = run('bash', [
    '-c',
    '"$1" exec -- tee "$3/node" <"$2" >/dev/null',
    'copy',
    labScript,
    process.execPath,
    folder,
  ])
  const runnable = inLab('chmod', '+x', `${folder}/node`)
  for (const { code, stderr } of [made, copied, node, runnable]) {
    if (code !== 0) throw new Error(`could not copy hal0 into the lab: exit code ${code}: ${stderr}`)
  }
}

function run(program: string, args: readonly string[]): Output {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 64 * 2 ** 20,
  })
  return { code: status, stdout: stdout ?? '', stderr: error === undefined ? stderr : String(error) }
}
