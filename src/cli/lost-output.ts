import { closeSync, fstatSync, openSync } from 'node:fs'
import { isatty } from 'node:tty'
import { EXIT } from './exit-codes.ts'

let staying = false

/**
 * `hal0 … | head` closes our stdout early. A command that only prints is then done (exit 0), and failed when its output cannot be
 * written for another reason (a full disk). One that runs the daemon goes on in silence (`stayWhenOutputFails`).
 */
export function tolerateLostOutput(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (staying) return
    if (error.code === 'EPIPE') process.exit(EXIT.ok)
    process.stderr.write(`hal0: the output cannot be written: ${error.message}\n`)
    leaveLostTerminal()
    process.exit(EXIT.failed)
  })
  // What cannot be said to people changes nothing about the work.
  process.stderr.on('error', () => {})
}

/**
 * From now on nothing that goes wrong with stdout or stderr ends this process: a reader that left, a closed terminal (EIO), a full
 * disk. The daemon's engines must be stopped in order, whoever still reads.
 */
export function stayWhenOutputFails(): void {
  staying = true
}

/**
 * To be called right before the end. Node 20 restores the terminal when it ends, and aborts (SIGABRT) when the terminal is gone; it
 * leaves alone what is another file by then, so what is gone becomes /dev/null.
 */
export function leaveLostTerminal(): void {
  for (const fd of [0, 1, 2]) {
    if (!isLostTerminal(fd)) continue
    closeSync(fd)
    // Takes the lowest free number, which is the one just closed.
    openSync('/dev/null', 'r+')
  }
}

/** A terminal whose other side is closed is still a character device, but no longer answers as a terminal (nor does /dev/null). */
function isLostTerminal(fd: number): boolean {
  try {
    return fstatSync(fd).isCharacterDevice() && !isatty(fd)
  } catch {
    return false
  }
}
