import { createHash } from 'node:crypto'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { send } from '../support/raw-http.ts'
import { type FakeEngine, startFakeEngine } from '../support/start-fake.ts'
import { startGateway, type TestGateway } from '../support/start-gateway.ts'
import { agentEndpoint, createStubSlots } from '../support/stub-slots.ts'

let engine: FakeEngine
let gateway: TestGateway

beforeEach(async () => {
  engine = await startFakeEngine({ argv: ['--alias', 'agent'] })
  const endpoint = agentEndpoint(engine)
  const row = { model_id: 'm' }
  gateway = await startGateway(
    createStubSlots({
      agent: { endpoint, row },
      off: { endpoint: { ...endpoint, enableThinking: false }, row },
      on: { endpoint: { ...endpoint, enableThinking: true }, row },
    }),
  )
})

afterEach(async () => {
  await gateway.stop()
  await engine.stop()
})

const MESSAGES = '"messages":[{"role":"user","content":"Grüße 你好"}]'
const PUT_IN = '"chat_template_kwargs":{"enable_thinking":false}'

/** Sends the text as it is; what did the engine read, and which length was announced to it? */
async function readByEngine(path: string, sent: string) {
  const answer = await send(gateway.origin, {
    path,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: sent,
  })
  expect(answer.status).toBe(200)
  const seen = (await engine.state()).last_request
  return { sha256: seen?.body_sha256, announced: seen?.headers['content-length'] }
}

function asRead(expected: string) {
  return {
    sha256: createHash('sha256').update(expected).digest('hex'),
    announced: String(Buffer.byteLength(expected)),
  }
}

it.each([
  ['no kwargs', `{"model":"off",${MESSAGES}}`, `{${PUT_IN},"model":"agent",${MESSAGES}}`],
  [
    'other kwargs',
    `{"chat_template_kwargs" : {"a":1},"model":"off",${MESSAGES}}`,
    `{"chat_template_kwargs" : {"enable_thinking":false,"a":1},"model":"agent",${MESSAGES}}`,
  ],
  ['a stream', `{"model":"off","stream":true,${MESSAGES}}`, `{${PUT_IN},"model":"agent","stream":true,${MESSAGES}}`],
  [
    'kwargs that are null',
    `{"model":"off","chat_template_kwargs":null,${MESSAGES}}`,
    `{"model":"agent",${PUT_IN},${MESSAGES}}`,
  ],
  [
    'the client decides',
    `{"model":"off","chat_template_kwargs":{"enable_thinking":true},${MESSAGES}}`,
    `{"model":"agent","chat_template_kwargs":{"enable_thinking":true},${MESSAGES}}`,
  ],
])('thinking off: %s', async (_name, sent, expected) => {
  expect(await readByEngine('/v1/chat/completions', sent)).toEqual(asRead(expected))
})

it('thinking on says true', async () => {
  expect(await readByEngine('/v1/chat/completions', `{"model":"on",${MESSAGES}}`)).toEqual(
    asRead(`{"chat_template_kwargs":{"enable_thinking":true},"model":"agent",${MESSAGES}}`),
  )
})

it('a slot that says nothing, and a path without a chat template, get the body untouched', async () => {
  const same = `{"model":"agent",${MESSAGES}}`
  expect(await readByEngine('/v1/chat/completions', same)).toEqual(asRead(same))
  expect(await readByEngine('/v1/completions', '{"model":"off","prompt":"a"}')).toEqual(
    asRead('{"model":"agent","prompt":"a"}'),
  )
})
