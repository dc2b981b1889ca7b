import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'

/** Debian's place for it, which is not on everybody's PATH. */
const NGINX = '/usr/sbin/nginx'

/** Is there a real nginx? */
export function hasNginx(): boolean {
  try {
    accessSync(NGINX, constants.X_OK)
    return true
  } catch {
    return false
  }
}

export interface TestNginx {
  readonly origin: string
  /** What it complained of so far. */
  errors(): string
  /** Ends it with its workers, whatever they serve; idempotent. */
  stop(): Promise<void>
}

/** What people write who have never heard of streaming: everything but `proxy_pass` is nginx' default; places are those of a test. */
function configOf(folder: string, port: number, target: string): string {
  const temps = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `${process.getuid?.() === 0 ? 'user root;\n' : ''}daemon off;
pid ${folder}/nginx.pid;
events {}
http {
  access_log off;
${temps.map((name) => `  ${name}_temp_path ${folder}/${name};`).join('\n')}
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass ${target};
    }
  }
}
`
}

/** A real nginx with default settings on a free loopback port, in front of the origin `target`. */
export async function startNginx(target: string): Promise<TestNginx> {
  const folder = await mkdtemp(join(tmpdir(), 'hal0-nginx-'))
  const port = await freePort()
  const config = join(folder, 'nginx.conf')
  await writeFile(config, configOf(folder, port, target))
  const child = spawn(NGINX, ['-e', 'stderr', '-p', folder, '-c', config], { stdio: ['ignore', 'ignore', 'pipe'] })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  const ended = once(child, 'exit')
  let stopping: Promise<void> | undefined
  const end = async (): Promise<void> => {
    // Its master ends the workers at once, and goes after them.
    child.kill('SIGTERM')
    await ended
    await rm(folder, { recursive: true, force: true })
  }
  const stop = (): Promise<void> => {
    stopping ??= end()
    return stopping
  }
  const isDead = () => child.exitCode !== null || child.signalCode !== null
  while (!(await answers(port))) {
    if (!isDead()) continue
    await stop()
    throw new Error(`nginx ended before it listened: ${errors}`)
  }
  return { origin: `http://127.0.0.1:${port}`, errors: () => errors, stop }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => setTimeout(() => resolve(false), 5))
  })
}
