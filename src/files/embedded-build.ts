import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Prebuilt CPU builds of the embedded engine, by `process.arch`; node-llama-cpp's own naming of the machines. */
const CPU_BUILDS: Readonly<Record<string, string>> = {
  x64: '@node-llama-cpp/linux-x64',
  arm64: '@node-llama-cpp/linux-arm64',
  arm: '@node-llama-cpp/linux-armv7l',
}

const LIBRARY = 'node-llama-cpp'

/** Where hal0 itself lies: this file runs from dist/files and, in tests, from src/files. */
const OWN_FOLDER = fileURLToPath(new URL('../..', import.meta.url))

/** Is the llama.cpp that comes with hal0 installed? `found` says which; `problem` what misses and the command that brings it. */
export type EmbeddedBuild =
  | { readonly ok: true; readonly found: string }
  | { readonly ok: false; readonly problem: string }

/** `findPackage`: the folder of an installed package, undefined = not installed. `ownFolder` is where hal0 lies. */
export function findEmbeddedBuild(
  machine: { readonly arch: string; readonly findPackage: (name: string) => string | undefined },
  ownFolder: string = OWN_FOLDER,
): EmbeddedBuild {
  const build = CPU_BUILDS[machine.arch]
  const library = machine.findPackage(LIBRARY)
  // A build that someone compiled on this machine serves as well.
  if (library !== undefined && existsSync(join(library, 'llama', 'localBuilds'))) {
    return { ok: true, found: 'llama.cpp compiled on this machine' }
  }
  if (build === undefined) {
    return {
      ok: false,
      problem: `there is no prebuilt llama.cpp for ${machine.arch}; run a llama-server of your own (runner \`cpu\`)`,
    }
  }
  if (library !== undefined && machine.findPackage(build) !== undefined) {
    return { ok: true, found: `llama.cpp for the CPU (${build})` }
  }
  const missing = library === undefined ? LIBRARY : build
  return { ok: false, problem: `package ${missing} is not installed: ${remedyText(missing, ownFolder)}` }
}

/** The command names what misses and leaves the optional ones out: those for CUDA and Vulkan weigh 600 MB and are never used. */
function remedyText(missing: string, ownFolder: string): string {
  const folder = resolve(ownFolder)
  const parent = dirname(folder)
  if (!parent.endsWith('/node_modules')) {
    return `run \`npm ci\` (\`npm ci --omit=dev\` for production) in ${folder}, without --omit=optional`
  }
  const name = `${missing}@${ownEngineVersion(ownFolder)}`
  return `run \`npm install --prefix ${dirname(parent)} --ignore-scripts --omit=optional ${name}\``
}

function ownEngineVersion(ownFolder: string): string {
  const text = readFileSync(join(ownFolder, 'package.json'), 'utf8')
  return /"node-llama-cpp":\s*"([^"]+)"/.exec(text)?.[1] ?? 'latest'
}
