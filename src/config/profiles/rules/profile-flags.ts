import type { ProfileBody } from '../../../contract/profile.ts'
import type { Dialect } from '../../../contract/runner.ts'
import { withoutUndefined } from '../../../kernel/without-undefined.ts'
import { isServiceRunner } from '../../../runners/rules/service-keys.ts'

/** How are the flags of a profile written? By its runner; llama-server's way unless that is another engine of hal0's. Source: SPEC 3, 10. */
export function dialectOf(runner: string | undefined): Dialect {
  if (runner === 'vllm' || runner === 'sglang' || runner === 'flm') return runner
  return runner !== undefined && isServiceRunner(runner) ? 'template' : 'llama-server'
}

/** Words, and values behind `=`, that name a place of this machine: another one may not have it. */
export function hostPaths(words: readonly string[]): readonly string[] {
  return words.filter((word) => /^(--?[a-z-]+=)?(\/|~\/|[A-Za-z]:\\)./.test(word))
}

/** The body of a profile without the keys that are undefined. */
export function definedBody(body: ProfileBody): ProfileBody {
  return withoutUndefined(body)
}

/** JSON in one form only: keys sorted at every depth, no white space. For checksums. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    const pairs = Object.entries(value).filter(([, inner]) => inner !== undefined)
    const sorted = pairs.toSorted(([left], [right]) => (left < right ? -1 : 1))
    return `{${sorted.map(([key, inner]) => `${JSON.stringify(key)}:${canonicalJson(inner)}`).join(',')}}`
  }
  return JSON.stringify(value)
}
