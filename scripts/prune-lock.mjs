// Removes the CUDA and Vulkan builds of the embedded engine from package-lock.json.
// They are optional dependencies of node-llama-cpp, weigh about 400 MB, and hal0 only ever asks for the CPU build.
// npm keeps what the lock says, so this is needed once after node-llama-cpp was added or upgraded; test/gates/lock.test.ts guards it.
import { readFileSync, writeFileSync } from 'node:fs'

const lockUrl = new URL('../package-lock.json', import.meta.url)
const gpuBuild = /^(node_modules\/)?@node-llama-cpp\/.*-(cuda|cuda-ext|vulkan)$/
const lock = JSON.parse(readFileSync(lockUrl, 'utf8'))
let removed = 0
for (const [path, entry] of Object.entries(lock.packages)) {
  if (gpuBuild.test(path)) {
    delete lock.packages[path]
    removed++
  }
  for (const name of Object.keys(entry.optionalDependencies ?? {})) {
    if (gpuBuild.test(name)) delete entry.optionalDependencies[name]
  }
}
writeFileSync(lockUrl, `${JSON.stringify(lock, null, 2)}\n`)
console.log(`package-lock.json: ${removed} GPU builds removed`)
