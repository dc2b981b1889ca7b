import type { Socket } from 'node:net'

/** Who wants to hear of the end of one connection. */
interface Listeners {
  /** Nearly always the only one. */
  one: (() => void) | undefined
  /** The others of a client that sends requests without waiting for answers. */
  more: (() => void)[]
}

const watched = new WeakMap<Socket, Listeners>()

/**
 * Calls back once when the connection closes; the answer takes the wish back. One listener per connection, however many requests a
 * client sends on it at once: node warns of more than ten, and would be right.
 */
export function onSocketClose(socket: Socket, callback: () => void): () => void {
  const listeners = watched.get(socket) ?? watch(socket)
  if (listeners.one === undefined) listeners.one = callback
  else listeners.more.push(callback)
  return () => {
    if (listeners.one === callback) listeners.one = listeners.more.shift()
    else listeners.more = listeners.more.filter((other) => other !== callback)
  }
}

function watch(socket: Socket): Listeners {
  const listeners: Listeners = { one: undefined, more: [] }
  watched.set(socket, listeners)
  socket.once('close', () => {
    const { one, more } = listeners
    one?.()
    for (const call of [...more]) call()
  })
  return listeners
}
