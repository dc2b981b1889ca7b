/** A signal that aborts with the first of these. They may outlive it: `forget` them then. */
export function anyOf(...signals: readonly AbortSignal[]): { readonly signal: AbortSignal; forget(): void } {
  const controller = new AbortController()
  const onAbort = (): void => controller.abort()
  for (const signal of signals) {
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort)
  }
  return {
    signal: controller.signal,
    forget: () => {
      for (const signal of signals) signal.removeEventListener('abort', onAbort)
    },
  }
}
