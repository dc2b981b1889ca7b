import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'smol-toml'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { prepareAgentSlot } from '../../src/cli/agent-slot.ts'
import { createProfiles } from '../../src/config/profiles/profile-store.ts'
import { migrateSlots } from '../../src/config/slots/migrate-slots.ts'
import { seedSlots } from '../../src/config/slots/seed-slots.ts'
import { readSlotFile } from '../../src/config/slots/slot-file.ts'
import { guardSlotText, guardSlotWrite, type SlotSource } from '../../src/config/slots/slot-gate.ts'
import { writeSlotFile } from '../../src/config/slots/write-slot.ts'
import { mergePatch } from '../../src/config/toml/rules/merge-patch.ts'
import type { Home } from '../../src/files/home.ts'
import { GIB } from '../../src/kernel/units.ts'
import { HELLO_GGUF, makeHome, startTestDaemon } from '../support/daemon-harness.ts'
import { DENIED_PAYLOADS, type DeniedPayload } from '../support/denied-payloads.ts'

const slotFile = (home: Home, name: string) => join(home.etc, 'slots', `${name}.toml`)

/** What is looked at in an answer of the API. */
const answerSchema = z.looseObject({ error: z.object({ code: z.string(), message: z.string() }).optional() })

/** Every file below etc with its text. */
async function textsOf(home: Home): Promise<Readonly<Record<string, string>>> {
  const entries = await readdir(home.etc, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return Object.fromEntries(
    await Promise.all(files.toSorted().map(async (file) => [file, await readFile(file, 'utf8')] as const)),
  )
}

/** A slot that would be right without the row's keys. */
const slotWith = (name: string, { payload }: DeniedPayload) =>
  mergePatch({ name, binary: 'cpu', autoload: false, model: { default: 'hello' } }, payload)

/** Prototype keys and the like: no row of the contract, and no way around the gate either. */
const TRICKS: readonly { readonly name: string; readonly body: string }[] = [
  { name: '__proto__ in a table', body: '{"model":{"__proto__":{"ctx_size":4}}}' },
  { name: '__proto__ as a variable', body: '{"server":{"env":{"__proto__":"x"}}}' },
  { name: 'constructor', body: '{"constructor":{"parallel":4}}' },
  { name: 'a dotted key', body: '{"model.ctx_size":4096}' },
  { name: 'a key with a quote', body: '{"a\\"b":1}' },
  { name: 'a key in wide letters', body: '{"\uFF43tx_size":1}' },
  { name: 'another case', body: '{"Port":8081}' },
  { name: 'another case of a table', body: '{"SERVER":{"extra_args":"--temp 0"}}' },
  { name: 'another case of env', body: '{"server":{"Env":{"LD_PRELOAD":"/x.so"}}}' },
  { name: 'a variable with =', body: '{"server":{"env":{"LD_PRELOAD=/x.so":"1"}}}' },
  { name: 'an infinite number', body: '{"port":1e400}' },
  { name: 'a number that is not exact', body: '{"port":9007199254740993}' },
  { name: 'a number as text', body: '{"port":"8081"}' },
  { name: 'a list for a table', body: '{"tune":[]}' },
  { name: 'a list of tables for a table', body: '{"model":[{"default":"hello"}]}' },
  { name: 'text for a table', body: '{"server":"env"}' },
  { name: 'a name that differs', body: '{"name":"other"}' },
]

describe('the gate, from every side', () => {
  it('the API: create, config, defaults, swap and rename of every row answer its code, and write nothing', async () => {
    const at = await startTestDaemon({ a: {}, d: {} })
    const send = async (method: string, path: string, body: string) => {
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(`${at.daemon.url}/api/slots${path}`, { method, headers, body })
      return { status: answer.status, error: answerSchema.parse(await answer.json()).error }
    }
    const right = await readFile(slotFile(at.home, 'd'), 'utf8')
    const untouched = await textsOf(at.home)
    for (const row of DENIED_PAYLOADS) {
      const tries = [
        ['POST', '', { name: 'fresh', ...row.payload }],
        ['PUT', '/a/config', row.payload],
        ['PATCH', '/a/defaults', row.payload],
      ] as const
      for (const [method, path, body] of tries) {
        const { error } = await send(method, path, JSON.stringify(body))
        expect(error?.code, `${method} ${path}: ${row.name}`).toBe(row.code)
        for (const word of row.named) expect(error?.message).toContain(word)
      }
    }
    for (const { name, body } of TRICKS) {
      const { status } = await send('PUT', '/a/config', body)
      expect([400, 422], name).toContain(status)
    }
    expect(await textsOf(at.home)).toEqual(untouched)

    for (const row of DENIED_PAYLOADS) {
      await writeFile(slotFile(at.home, 'd'), stringify(slotWith('d', row)))
      const before = await textsOf(at.home)
      const swap = await send('POST', '/d/swap', JSON.stringify({ model_id: 'twin', persist: true }))
      expect(swap.error?.code, `swap: ${row.name}`).toBe(row.diskCode)
      const rename = await send('POST', '/d/rename', JSON.stringify({ to: 'e' }))
      expect(rename.error?.code, `rename: ${row.name}`).toBe(row.code)
      const patch = await send('PUT', '/d/config', JSON.stringify({ threads: 2 }))
      expect(patch.error?.code, `an innocent change: ${row.name}`).toBe(row.diskCode)
      const create = await send('POST', '', JSON.stringify({ name: 'd' }))
      expect(create.error?.code, `create over it: ${row.name}`).toBe('slot.exists')
      await expect(at.daemon.slots.load('d'), `load: ${row.name}`).rejects.toMatchObject({ code: row.diskCode })
      expect(await textsOf(at.home), row.name).toEqual(before)
    }
    await writeFile(slotFile(at.home, 'd'), right)
    expect(await textsOf(at.home)).toEqual(untouched)
  })

  it.each(DENIED_PAYLOADS)('$name: text and data of every writer, and what nobody guarded', async (row) => {
    const { home } = await makeHome({})
    const before = await textsOf(home)
    const text = stringify(slotWith('x', row))
    for (const source of ['api', 'cli', 'seed', 'stack', 'import', 'disk'] satisfies SlotSource[]) {
      const context = { file: slotFile(home, 'x'), name: 'x', source }
      const code = source === 'disk' ? row.diskCode : row.code
      expect(() => guardSlotText(text, context)).toThrow(expect.objectContaining({ code }))
      expect(() => guardSlotWrite(slotWith('x', row), context)).toThrow(expect.objectContaining({ code }))
    }
    // One that was admitted for this file, and tampered with afterwards.
    const payload: Record<string, unknown> = { name: 'x' }
    const guarded = guardSlotWrite(payload, { file: slotFile(home, 'y'), name: 'x', source: 'api' })
    Object.assign(payload, row.payload)
    expect(guarded.payload).toEqual({ name: 'x' })
    await expect(writeSlotFile(home, guarded)).rejects.toThrow('was guarded')
    expect(await textsOf(home)).toEqual(before)
  })

  it.each(DENIED_PAYLOADS)('$name: quickstart, seeding and migration pass it on a file that is there', async (row) => {
    const { home } = await makeHome({})
    await writeFile(slotFile(home, 'agent'), stringify(slotWith('agent', row)))
    const before = await textsOf(home)
    await expect(prepareAgentSlot(home, HELLO_GGUF)).rejects.toMatchObject({ code: row.diskCode })
    await expect(prepareAgentSlot(home, undefined)).rejects.toMatchObject({ code: row.diskCode })
    const profiles = createProfiles({ home, knownRunners: () => ['cpu', 'embedded'], version: '0' })
    const deps = { home, runnerKeys: () => ['cpu', 'embedded'], memoryBytes: 256 * GIB, profiles }
    expect(await seedSlots(deps, { kind: 'named', names: ['agent'] })).toMatchObject({ kept: ['agent'] })
    expect(await textsOf(home)).toEqual(before)

    const { migrated, failed } = await migrateSlots(home)
    if (migrated.length === 0) {
      // Moved by nobody: a person has to decide, and the file is theirs.
      expect(await textsOf(home)).toEqual(before)
      if (row.code === 'slot.tuning_key_denied') expect(failed).not.toEqual([])
      return
    }
    expect(await readSlotFile(home, 'agent')).toMatchObject({ name: 'agent', model: { default: 'hello' } })
    const [backup] = migrated.map((one) => one.backup)
    expect(await readFile(backup ?? '', 'utf8')).toBe(before[slotFile(home, 'agent')])
  })
})
