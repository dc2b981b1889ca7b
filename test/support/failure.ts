import { Hal0Error } from '../../src/kernel/errors.ts'

/** The error that `work` ends with; fails the test when it ends well, or with anything but an error of the registry. */
export async function failure(work: Promise<unknown>): Promise<Hal0Error> {
  const thrown: unknown = await work.then(
    () => undefined,
    (cause: unknown) => cause,
  )
  if (!(thrown instanceof Hal0Error)) throw new Error(`expected a Hal0Error, got ${String(thrown)}`)
  return thrown
}
