import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findOwnPackage } from '../hardware/find-package.ts'
import { Hal0Error } from '../kernel/errors.ts'
import type { Runner } from './runner.ts'
import { LLAMA_CPP_SIGNATURES } from './signatures.ts'

/** The compiled child program; this file runs from dist/runners and, in tests, from src/runners. */
const SERVER_PATH = fileURLToPath(new URL('../../dist/runners/embedded/server.js', import.meta.url))

/** npm names of the engine's builds: node-llama-cpp's own naming of the machines. */
function buildPackage(platform: string, arch: string): string {
  return `@node-llama-cpp/${platform}-${arch === 'arm' ? 'armv7l' : arch}`
}

function refuse(message: string): never {
  throw Hal0Error.of('slot.spawn_failed', `runner "embedded" cannot start: ${message}`)
}

/** llama.cpp inside this package, in a child process: what runs where nothing else is installed. Source: SPEC 10. */
export function createEmbeddedRunner(): Runner {
  return {
    key: 'embedded',
    title: 'embedded llama.cpp (CPU)',
    types: ['llm', 'embedding'],
    routes: ['/v1/chat/completions', '/v1/completions', '/v1/embeddings', '/tokenize'],
    probe: { healthPath: '/health', modelsPath: '/v1/models', identityPath: '/props' },
    keyEnv: 'HAL0_EMBEDDED_API_KEY',
    onClientAbort: 'abort',
    signatures: LLAMA_CPP_SIGNATURES,
    async findCommand() {
      const library = findOwnPackage('node-llama-cpp')
      if (library === undefined)
        refuse('the package node-llama-cpp is not installed; run `npm ci` in the folder of hal0')
      const build = buildPackage(process.platform, process.arch)
      // A build that someone compiled on this machine serves as well.
      const hasBuild = findOwnPackage(build) !== undefined || existsSync(join(library, 'llama', 'localBuilds'))
      if (!hasBuild) {
        refuse(
          `its llama.cpp build ${build} is not installed; run \`npm ci\` without --omit=optional, or give the slot another runner`,
        )
      }
      if (!existsSync(SERVER_PATH)) refuse(`${SERVER_PATH} is missing; run \`npm run build\``)
      return [process.execPath, SERVER_PATH]
    },
  }
}
