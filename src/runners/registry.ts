import type { Runner } from './runner.ts'

/** The runners of this daemon by key. `find` is undefined for a key nobody registered. */
export interface RunnerRegistry {
  find(key: string): Runner | undefined
  all(): readonly Runner[]
}
