import type { Socket } from 'node:net'

const watched = new WeakMap<Socket, Set<() => void>>()

/**
 * Calls back once when the connection closes; the answer takes the wish back. One listener per connection, however many requests a
 * client sends on it at once: node warns of more than ten, and would be right.
 */
export function onSocketClose(socket: Socket, callback: () => void): () => void {
  const known = watched.get(socket)
  const callbacks = known ?? new Set()
  if (known === undefined) {
    watched.set(socket, callbacks)
    socket.once('close', () => {
      for (const call of [...callbacks]) call()
    })
  }
  callbacks.add(callback)
  return () => void callbacks.delete(callback)
}
