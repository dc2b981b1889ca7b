import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Bytes that this process still holds on to, objects and buffers: unlike its size, no matter of when garbage was last collected. */
export async function heldBytes(): Promise<number> {
  for (let n = 0; n < 3; n++) {
    collect()
    // What finalizers hold is given back between two turns.
    await new Promise((resolve) => setImmediate(resolve))
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
