/** What the shell sees. Source: SPEC 18. */
export const EXIT = { ok: 0, failed: 1, usage: 2, unreachable: 3 } as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]
