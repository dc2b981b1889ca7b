/** No daemon is known in the homes that were looked at: exit 3, like one that does not answer. */
export class NoDaemonError extends Error {
  override readonly name = 'NoDaemonError'
}
