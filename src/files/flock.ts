import { spawn } from 'node:child_process'
import { type FileHandle } from 'node:fs/promises'
import { errnoOf, Hal0Error } from '../kernel/errors.ts'

/** flock(1) says with it that somebody else has the lock. */
const TAKEN = 1

/**
 * Locks an open file, flock(2): the kernel gives the lock to one process and takes it back when that process ends in whatever way. Node
 * cannot call flock itself: flock(1) locks the open file that it inherits, and the lock stays with our descriptor. `waitS`: how long to
 * wait for another holder, in seconds. `what`: how messages name that which is locked. False = somebody else has it.
 * Errors: `config.invalid` without flock(1), or when it fails.
 */
export function lockFile(file: FileHandle, what: string, waitS: number): Promise<boolean> {
  const patience = waitS === 0 ? ['-n'] : ['-w', String(waitS)]
  return new Promise((resolve, reject) => {
    const child = spawn('flock', [...patience, '-x', '3'], { stdio: ['ignore', 'ignore', 'ignore', file.fd] })
    child.once('error', (cause) => {
      const reason = errnoOf(cause) === 'ENOENT' ? 'there is no flock on PATH' : cause.message
      reject(
        Hal0Error.of('config.invalid', `${what} cannot be locked: ${reason}`, {
          details: { remedy: 'Install util-linux (or busybox), which brings flock.' },
          cause,
        }),
      )
    })
    child.once('exit', (code) => {
      if (code === 0 || code === TAKEN) resolve(code === 0)
      else reject(Hal0Error.of('config.invalid', `${what} cannot be locked: flock ended with ${code ?? 'a signal'}`))
    })
  })
}
