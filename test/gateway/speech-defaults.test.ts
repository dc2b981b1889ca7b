import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { slotsOfAllTypes, startClientWorld } from '../support/client-world.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

it("a slot's file speaks where the request does not, and nowhere else (fake engine)", async () => {
  const { tts } = slotsOfAllTypes()
  const world = await startClientWorld({ tts: { ...tts, default_voice: 'af', default_response_format: 'wav' } })
  const engine = await world.engine('tts')
  const say = async (body: string) => {
    const answer = await fetch(`${world.origin}/v1/audio/speech`, { method: 'POST', body })
    expect(answer.status).toBe(200)
    await answer.arrayBuffer()
    return (await engine.state()).requests.at(-1)?.body_sha256
  }
  expect(await say('{"model":"tts","input":"hi"}')).toBe(
    sha256('{"voice":"af","response_format":"wav","model":"tts","input":"hi"}'),
  )
  expect(await say('{"model":"tts","input":"hi","voice":"bm"}')).toBe(
    sha256('{"response_format":"wav","model":"tts","input":"hi","voice":"bm"}'),
  )
  const whole = '{"model":"tts","input":"hi","voice":null,"response_format":"pcm"}'
  expect(await say(whole)).toBe(sha256(whole))
})
