// A home of hal0 with one slot, whose engine is the bench's own.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ENGINE = fileURLToPath(new URL('../engine/engine.mjs', import.meta.url))
const ROUTES = ['/v1/chat/completions', '/v1/completions', '/v1/audio/transcriptions']
export const SLOT = 'bench'

/** @param {string} home @param {string[]} prefix what puts the engine on its core */
export function writeHome(home, prefix) {
  const etc = join(home, 'etc/hal0')
  const model = join(home, 'bench.gguf')
  mkdirSync(join(etc, 'slots'), { recursive: true })
  // A GGUF header that promises nothing: version 3, no tensors, no facts. The engine never opens it.
  writeFileSync(model, Buffer.concat([Buffer.from('GGUF'), Buffer.from([3, 0, 0, 0]), Buffer.alloc(16)]))
  const toml = JSON.stringify
  const template = [...prefix, process.execPath, ENGINE, '--port', '${PORT}', '--alias', '${ALIAS}']
  writeFileSync(
    join(etc, 'hal0.toml'),
    `[slots]
queue_limit = 4096
output_sanity = "off"

[runners.bench]
template = ${toml(template)}
types = ["llm"]
routes = ${toml(ROUTES)}
health_path = "/health"
identity_path = "/props"
key_env = "BENCH_ENGINE_KEY"
`,
  )
  writeFileSync(join(etc, 'models.toml'), `[models.bench-model]\npath = ${toml(model)}\n`)
  writeFileSync(
    join(etc, `slots/${SLOT}.toml`),
    `name = ${toml(SLOT)}\ndevice = "cpu"\nbinary = "bench"\n\n[model]\ndefault = "bench-model"\n`,
  )
}

/** What the daemon has written down about a slot's engine. @param {string} home @param {string} [name] the slot */
export function engineOf(home, name = SLOT) {
  const slot = join(home, 'var-lib/hal0/slots', name)
  const state = JSON.parse(readFileSync(join(slot, 'state.json'), 'utf8'))
  return {
    origin: `http://127.0.0.1:${state.port}`,
    pid: Number(state.extra?.process?.pid ?? 0),
    key: readFileSync(join(slot, 'engine-key'), 'utf8').trim(),
  }
}
