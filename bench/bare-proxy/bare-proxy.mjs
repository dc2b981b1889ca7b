// The yardstick of the bench: the least that a proxy in Node can do. It looks at nothing, and decides nothing.
//   node bench/bare-proxy/bare-proxy.mjs ENGINE_ORIGIN ENGINE_KEY     prints its own origin
import { createServer } from 'node:http'
import { Pool } from 'undici'

const [origin = '', key = ''] = process.argv.slice(2)
const pool = new Pool(origin, { connections: 8192, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 })

const server = createServer((req, res) => {
  const { host: _host, connection: _connection, 'transfer-encoding': coding, ...headers } = req.headers
  headers['authorization'] = `Bearer ${key}`
  const hasBody = coding !== undefined || headers['content-length'] !== undefined
  let abort = () => {}
  res.on('close', () => {
    if (!res.writableFinished) abort()
  })
  pool.dispatch(
    { method: req.method ?? 'GET', path: req.url ?? '/', headers, body: hasBody ? req : null },
    {
      onRequestStart(controller) {
        abort = () => controller.abort(new Error('the client left'))
        if (res.closed) abort()
        else res.on('drain', () => controller.resume())
      },
      onResponseStart(_controller, status, { connection: _c, 'transfer-encoding': _t, 'keep-alive': _k, ...answer }) {
        res.writeHead(status, answer)
      },
      onResponseData(controller, chunk) {
        if (!res.write(chunk)) controller.pause()
      },
      onResponseEnd() {
        res.end()
      },
      onResponseError() {
        if (res.headersSent) res.destroy()
        else res.writeHead(502).end()
      },
    },
  )
})
server.listen(0, '127.0.0.1', () => process.stdout.write(`http://127.0.0.1:${server.address().port}\n`))
