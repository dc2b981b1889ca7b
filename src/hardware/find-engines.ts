import { isAbsolute } from 'node:path'
import { findEmbeddedBuild } from '../files/embedded-build.ts'
import { findProgram, isProgram } from '../files/find-program.ts'
import type { Finding, Machine } from './finding.ts'

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
  const build = findEmbeddedBuild(machine)
  return build.ok ? { ...base, ok: true, found: build.found } : { ...base, ok: false, found: build.problem }
}

/** Is there a `llama-server`? The configured path is looked at alone when there is one, else PATH. */
export async function findLlamaServer(machine: Machine, configured: string | undefined): Promise<Finding> {
  const base = {
    name: 'llama-server',
    required: false,
    gives: 'runner `cpu`: your own llama.cpp build, with its GPU support and newest models',
  }
  if (configured !== undefined && isAbsolute(configured)) {
    if (!(await isProgram(configured)))
      return { ...base, ok: false, found: `${configured} (from the settings) is missing or not executable` }
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
