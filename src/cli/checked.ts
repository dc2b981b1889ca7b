import { UsageError } from './cli-error.ts'

/** The same check as the daemon's, before anything is asked of it. Errors: UsageError. */
export function checked<T>(
  schema: {
    safeParse(input: unknown): { success: true; data: T } | { success: false; error: { issues: readonly Issue[] } }
  },
  input: unknown,
): T {
  const parsed = schema.safeParse(input)
  if (parsed.success) return parsed.data
  const text = parsed.error.issues.map(({ path, message }) => [path.join('.'), message].filter(Boolean).join(': '))
  throw new UsageError(`${text.join('; ')}.`)
}

interface Issue {
  readonly path: readonly PropertyKey[]
  readonly message: string
}
