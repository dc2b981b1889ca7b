import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findOwnPackage } from '../../files/find-package.ts'

const LIBRARY = 'node-llama-cpp'

/** What `--version` prints: the library decides which models and what arithmetic, so its version is the engine's. One line. */
export function versionLine(): string {
  const folder = findOwnPackage(LIBRARY)
  if (folder === undefined) return `version: hal0 embedded engine, without ${LIBRARY}`
  const { version }: { readonly version?: unknown } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return `version: hal0 embedded engine, ${LIBRARY} ${String(version)}`
}
