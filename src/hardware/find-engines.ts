import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { isAbsolute } from 'node:path'
import { findProgram } from './find-program.ts'
import type { Finding, Machine } from './finding.ts'

/** Prebuilt CPU builds of the embedded engine exist for these, by `process.arch`. */
const CPU_BUILDS: Readonly<Record<string, string>> = {
  x64: '@node-llama-cpp/linux-x64',
  arm64: '@node-llama-cpp/linux-arm64',
  arm: '@node-llama-cpp/linux-armv7l',
}

/** Is the llama.cpp that comes with hal0 installed? Required when it is the only engine there could be (`onlyEngine`). */
export function findEmbeddedEngine(
  machine: Pick<Machine, 'arch' | 'findPackage'>,
  options: { readonly onlyEngine: boolean },
): Finding {
  const base = {
    name: 'embedded-engine',
    required: options.onlyEngine,
    gives: 'runner `embedded`: GGUF models on the CPU with nothing else installed',
  }
  if (machine.findPackage('node-llama-cpp') === undefined) {
    return {
      ...base,
      ok: false,
      found: 'package node-llama-cpp is not installed; install hal0 again (docs/install.md)',
    }
  }
  const build = CPU_BUILDS[machine.arch]
  if (build === undefined) {
    return { ...base, ok: false, found: `there is no prebuilt CPU engine for ${machine.arch}` }
  }
  if (machine.findPackage(build) === undefined) {
    return {
      ...base,
      ok: false,
      found: `package ${build} is not installed: run \`npm install ${build}@3.21.1\` beside hal0`,
    }
  }
  return { ...base, ok: true, found: `llama.cpp for the CPU (${build})` }
}

/** Is there a `llama-server`? The configured path is looked at alone when there is one, else PATH. */
export async function findLlamaServer(machine: Machine, configured: string | undefined): Promise<Finding> {
  const base = {
    name: 'llama-server',
    required: false,
    gives: 'runner `cpu`: your own llama.cpp build, with its GPU support and newest models',
  }
  if (configured !== undefined && isAbsolute(configured)) {
    const usable = await access(configured, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (!usable) return { ...base, ok: false, found: `${configured} (from the settings) is missing or not executable` }
    return { ...base, ok: true, found: await describe(machine, configured) }
  }
  const path = await findProgram(configured ?? 'llama-server', machine.env['PATH'])
  if (path === undefined) return { ...base, ok: false, found: `no ${configured ?? 'llama-server'} on PATH` }
  return { ...base, ok: true, found: await describe(machine, path) }
}

/** llama-server prints its version on stderr, so a run that says nothing on stdout is fine. */
async function describe(machine: Machine, path: string): Promise<string> {
  const result = await machine.run(path, ['--version'])
  const version = result.kind === 'ok' ? /version: ([^\n]+)/.exec(result.output)?.[1] : undefined
  return version === undefined ? path : `${path}, version ${version}`
}
