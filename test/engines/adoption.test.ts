import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { slotStatePath } from '../../src/files/home.ts'
import { isRunning, isUp, makeOwnHome, type Served, serve } from '../gateway/adoption-world.ts'
import { eventually } from '../support/daemon-harness.ts'

const question = { messages: [{ role: 'user', content: 'What is 2+2?' }], temperature: 0 }

async function answerOf(daemon: Served): Promise<unknown> {
  const answer = await daemon.chat('a', question)
  const body = (await answer.json()) as { choices?: { message: { content: string } }[] }
  return [answer.status, body.choices?.[0]?.message.content]
}

it('the embedded engine outlives kill -9 of its daemon in the middle of a stream, and answers the next one from the same process', async () => {
  const at = await makeOwnHome({ a: { runner: 'embedded' } })
  const first = await serve(at)
  expect(await answerOf(first)).toEqual([200, '4'])
  const { pid, port } = await first.row('a')
  const stream = await first.chat('a', { ...question, stream: true, ignore_eos: true, max_tokens: 2_000 })
  await eventually(async () => (await readFile(slotStatePath(at.home, 'a'), 'utf8')).includes('"sanity": "passed"'))
  await first.kill9()
  await expect(stream.text()).rejects.toThrow()

  const second = await serve(at)
  expect(await second.until('a', isUp)).toMatchObject({
    pid,
    port,
    model_id: 'hello',
    runner: 'embedded',
    restart_needed: [],
  })
  expect(await answerOf(second)).toEqual([200, '4'])
  expect(await second.row('a')).toMatchObject({ pid })
  expect(await second.end()).toBe(0)
  expect(await isRunning(pid ?? 0)).toBe(false)
})
