let staying = false

/**
 * `hal0 … | head` closes our stdout early. A command that only prints is then done (exit 0); one that runs the daemon goes on in
 * silence (`stayWhenPipesClose`), because its engines must be stopped in order.
 */
export function tolerateClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
      if (stream === process.stdout && !staying) process.exit(0)
    })
  }
}

/** From now on a closed stdout does not end this process. */
export function stayWhenPipesClose(): void {
  staying = true
}
