// A home of hal0 for the swap line: two small models that no slot binds, so that a request for one puts it in the on-demand slot.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const MODELS = fileURLToPath(new URL('../../models', import.meta.url))
export const SWAP_SLOT = 'scratch'
export const SWAP_MODELS = /** @type {const} */ (['hello', 'hello-f16'])

/** @param {string} home @param {string} llamaServer */
export function writeSwapHome(home, llamaServer) {
  const etc = join(home, 'etc/hal0')
  mkdirSync(join(etc, 'slots'), { recursive: true })
  writeFileSync(
    join(etc, 'hal0.toml'),
    `[slots]\noutput_sanity = "off"\n\n[dispatcher]\non_demand_slot = "${SWAP_SLOT}"\n\n[runners.cpu]\nbinary = ${JSON.stringify(llamaServer)}\n`,
  )
  const models = SWAP_MODELS.map((name) => `[models.${name}]\npath = ${JSON.stringify(join(MODELS, `${name}.gguf`))}\n`)
  writeFileSync(join(etc, 'models.toml'), models.join('\n'))
}
