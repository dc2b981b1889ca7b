import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { daemonFilePath } from '../../src/files/home.ts'
import { startTestDaemon } from './daemon-harness.ts'

const madeSchema = z.object({ key: z.object({ secret: z.string() }) })

/** A daemon in this process, without slots, on which people are made by its own key. Ends with the test. */
export async function startPeopleDaemon() {
  const { home, daemon, event } = await startTestDaemon({})
  const { local_key: local } = JSON.parse(await readFile(daemonFilePath(home), 'utf8')) as { local_key: string }
  const send = async (line: string, body: unknown, key: string) => {
    const [method = '', path = ''] = line.split(' ')
    const answer = await fetch(`${daemon.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { isOk: answer.ok, said: text === '' ? answer.status : (JSON.parse(text) as unknown) }
  }
  const ask = async (line: string, body?: unknown, key = local): Promise<unknown> => {
    const { isOk, said } = await send(line, body, key)
    if (!isOk) throw new Error(`${line}: ${JSON.stringify(said)}`)
    return said
  }
  return {
    ...{ home, event, local },
    /** `line`: `GET /api/lanes`. By the daemon's own key, or `key`. Resolves with the answer, or its status where that is empty; a refusal is an error. */
    ask,
    /** The same, and a refusal is an answer. */
    tryTo: async (line: string, body?: unknown, key = local): Promise<unknown> => (await send(line, body, key)).said,
    /** Makes somebody; resolves with their key. */
    keyOf: async (name: string, role = 'member') =>
      madeSchema.parse(await ask('POST /api/users', { name, role, key_name: 'k' })).key.secret,
  }
}
