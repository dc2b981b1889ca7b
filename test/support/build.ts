import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Engines run as child processes from dist/, so the tests that start some build first (about a second). */
export default function build(): void {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const result = spawnSync('npm', ['run', '--silent', 'build'], { cwd: root, encoding: 'utf8' })
  if (result.status !== 0) throw new Error(`npm run build failed:\n${result.stdout}${result.stderr}`)
}
