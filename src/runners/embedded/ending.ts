import type { Server } from 'node:http'

/** A step of a small model takes milliseconds; one of a large model, or a load, is not worth waiting for. */
const LONGEST_WAIT_MS = 1_500
const LOOK_EVERY_MS = 5

/** What may still be running in llama.cpp's threads. */
export interface EndingOptions {
  readonly server: Server
  /** Whether the model is being loaded or a request worked on. */
  isBusy(): boolean
}

/**
 * Ends this process: cuts every connection (which aborts their requests), waits for the step that runs, exits with code 0.
 * `process.exit` alone would wait for the native threads however long they take, so after a moment the process kills itself:
 * nothing is kept here that a clean end would have to save.
 */
export function endProcess(options: EndingOptions): void {
  options.server.close()
  options.server.closeAllConnections()
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), LONGEST_WAIT_MS)
  const look = (): void => {
    if (!options.isBusy()) process.exit(0)
  }
  setInterval(look, LOOK_EVERY_MS)
  look()
}
