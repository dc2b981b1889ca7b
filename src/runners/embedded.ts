import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { findEmbeddedBuild } from '../files/embedded-build.ts'
import { findOwnPackage } from '../files/find-package.ts'
import { Hal0Error } from '../kernel/errors.ts'
import { helpText } from './embedded/rules/flags.ts'
import { versionLine } from './embedded/version-line.ts'
import { EMBEDDED_NO_EFFECT } from './rules/embedded-no-effect.ts'
import { abilitiesOf, NO_ABILITIES } from './rules/engine-facts.ts'
import { parseHelp } from './rules/parse-help.ts'
import type { EngineFacts, Runner } from './runner.ts'
import { LLAMA_CPP_SIGNATURES } from './signatures.ts'

/** The compiled child program; this file runs from dist/runners and, in tests, from src/runners. */
const SERVER_PATH = fileURLToPath(new URL('../../dist/runners/embedded/server.js', import.meta.url))

function refuse(message: string): never {
  throw Hal0Error.of('slot.spawn_failed', `runner "embedded" cannot start: ${message}`)
}

/** What the child would print of itself: it is part of this package, so nobody has to start it for that. */
function readFacts(): EngineFacts {
  const help = parseHelp(helpText())
  return { version: versionLine(), abilities: help === undefined ? NO_ABILITIES : abilitiesOf(help), help }
}

/** llama.cpp inside this package, in a child process: what runs where nothing else is installed. Source: SPEC 10. */
export function createEmbeddedRunner(): Runner {
  let known: EngineFacts | undefined
  const facts = (): EngineFacts => (known ??= readFacts())
  return {
    key: 'embedded',
    dialect: 'llama-server',
    isSelfManaged: false,
    noEffect: EMBEDDED_NO_EFFECT,
    describe: async () => facts(),
    title: 'embedded llama.cpp (CPU)',
    types: ['llm', 'embedding'],
    routes: ['/v1/chat/completions', '/v1/completions', '/v1/embeddings', '/tokenize'],
    probe: { healthPath: '/health', modelsPath: '/v1/models', identityPath: '/props' },
    keyEnv: 'HAL0_EMBEDDED_API_KEY',
    onClientAbort: 'abort',
    signatures: LLAMA_CPP_SIGNATURES,
    async findCommand() {
      const build = findEmbeddedBuild({ arch: process.arch, findPackage: findOwnPackage })
      if (!build.ok) refuse(build.problem)
      if (!existsSync(SERVER_PATH)) refuse(`${SERVER_PATH} is missing; run \`npm run build\``)
      return [process.execPath, SERVER_PATH]
    },
  }
}
