// /fake/*: what tests use to look inside and to turn knobs. No key, no loading, never hung.
/** @typedef {import('./engine.mjs').Engine} Engine */

/** @param {import('node:http').ServerResponse} res @param {number} status @param {unknown} value */
function json(res, status, value) {
  const body = Buffer.from(JSON.stringify(value))
  res.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': String(body.length) })
  res.end(body)
}

/** Answers when `counter` has reached `min`, or 504 after `timeout_ms`. @param {Engine} engine @param {URLSearchParams} query @param {import('node:http').ServerResponse} res */
function waitFor(engine, query, res) {
  const counter = query.get('counter') ?? ''
  const min = Number(query.get('min') ?? '1')
  if (!(counter in engine.state.counters)) return json(res, 400, { error: `unknown counter "${counter}"` })
  /** @param {number} status */
  const finish = (status) => {
    clearTimeout(timer)
    engine.state.waiters.delete(check)
    json(res, status, engine.view())
  }
  const check = () => {
    if (engine.state.counters[/** @type {'requests'} */ (counter)] >= min) finish(200)
  }
  const timer = setTimeout(() => finish(504), Number(query.get('timeout_ms') ?? '10000'))
  engine.state.waiters.add(check)
  check()
}

/** @param {Engine} engine @param {import('node:http').IncomingMessage} req @param {import('node:http').ServerResponse} res */
export function control(engine, req, res) {
  const url = new URL(req.url ?? '/', 'http://fake')
  const key = `${req.method} ${url.pathname}`
  if (key === 'GET /fake/state') return json(res, 200, engine.view())
  if (key === 'GET /fake/wait') return waitFor(engine, url.searchParams, res)
  if (key === 'POST /fake/reset') {
    engine.state.reset()
    return json(res, 200, engine.view())
  }
  if (key !== 'POST /fake/knobs') {
    return json(res, 404, { error: 'GET /fake/state, GET /fake/wait, POST /fake/knobs, POST /fake/reset' })
  }
  /** @type {Buffer[]} */
  const parts = []
  req.on('data', (part) => parts.push(part))
  req.on('end', () => {
    let changes
    try {
      changes = JSON.parse(Buffer.concat(parts).toString('utf8'))
    } catch {
      return json(res, 400, { error: 'the body is not JSON' })
    }
    const mistake = engine.setKnobs(changes)
    return mistake === undefined ? json(res, 200, { knobs: engine.knobs }) : json(res, 400, { error: mistake })
  })
}
