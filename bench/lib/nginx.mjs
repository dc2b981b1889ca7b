// nginx as a proxy in front of the engine: the yardstick near the physical limit. Its own prefix, nothing of the system's.
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileLimit } from './machine.mjs'
import { start } from './processes.mjs'

/** A port that was free a moment ago. @returns {Promise<number>} */
export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}

/** @param {string} folder @param {number} port @param {string} engine host:port @param {string} key */
function configOf(folder, port, engine, key) {
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  return `${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off;
worker_processes 1;
worker_rlimit_nofile ${fileLimit()};
pid ${folder}/nginx.pid;
error_log stderr crit;
events { worker_connections ${fileLimit()}; }
http {
  access_log off;
  ${paths.join('\n  ')}
  keepalive_requests 1000000000;
  keepalive_timeout 3600s;
  client_max_body_size 0;
  upstream engine { server ${engine}; keepalive 512; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / {
      proxy_pass http://engine;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Authorization "Bearer ${key}";
      proxy_buffering off;
      proxy_request_buffering off;
      proxy_read_timeout 3600s;
    }
  }
}
`
}

/** @param {{ home: string, prefix: string[], engineOrigin: string, key: string }} of */
export async function startNginx({ home, prefix, engineOrigin, key }) {
  const folder = join(home, 'nginx')
  mkdirSync(folder, { recursive: true })
  const port = await freePort()
  const config = join(folder, 'nginx.conf')
  writeFileSync(config, configOf(folder, port, new URL(engineOrigin).host, key))
  const started = start([...prefix, 'nginx', '-e', 'stderr', '-p', folder, '-c', config])
  return { started, origin: `http://127.0.0.1:${port}` }
}
