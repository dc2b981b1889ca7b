import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The folder of an installed package, found as Node finds it: in `node_modules` of `from` and of every folder above it.
 * Undefined = not installed. The package's own `exports` do not matter: nothing of it is loaded.
 */
export function findPackageFolder(name: string, from: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', name)
    if (existsSync(join(candidate, 'package.json'))) return candidate
    if (folder === dirname(folder)) return undefined
  }
}

/** The same, from where hal0 itself is installed. */
export function findOwnPackage(name: string): string | undefined {
  return findPackageFolder(name, dirname(fileURLToPath(import.meta.url)))
}
