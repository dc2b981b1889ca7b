import { spawnSync } from 'node:child_process'
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { validateHome } from '../../src/config/home/validate-home.ts'
import { eventually, startTestDaemon } from '../support/daemon-harness.ts'
import { runCli } from '../support/run-cli.ts'

type Break = (file: string, right: string) => Promise<void> | void

const text = (after: (right: string) => string | Uint8Array): Break => {
  return (file, right) => writeFile(file, after(right))
}
/** Something else under the file's name. */
const instead = (make: (file: string) => unknown): Break => {
  return async (file) => {
    await rm(file)
    await make(file)
  }
}

/** Slot → how its file breaks, and a word of what `config validate` says about it. Each is `config.invalid`. */
const SLOTS: Readonly<Record<string, readonly [Break, string]>> = {
  // The one that streams is the first.
  a: [text((right) => `nonsense = 1\n${right}`), 'unknown key'],
  b1: [text(() => ''), 'name'],
  b2: [text((right) => `${right}\n"`), 'not valid TOML'],
  b3: [text((right) => `prot = 8081\n${right}`), 'did you mean port?'],
  b4: [text((right) => right.replace('name = "b4"', 'name = "b5"')), 'the name of the file'],
  b5: [text((right) => Buffer.concat([Buffer.from(right), Buffer.from([0x23, 0xe9, 0x0a])])), 'UTF-8'],
  b6: [text((right) => `\uFEFFport = "x"\r\n${right}`), 'port'],
  b7: [text((right) => `${right}\n#${'x'.repeat(2 * 1024 * 1024)}`), 'at most'],
  b8: [instead((file) => spawnSync('mkfifo', [file])), 'regular file'],
  b9: [instead((file) => mkdir(file)), 'regular file'],
  b10: [instead((file) => symlink('nowhere.toml', file)), 'not there'],
  b11: [instead((file) => symlink('b11.toml', file)), 'ELOOP'],
  b12: [text((right) => `port = 1\nport = 2\n${right}`), 'redefine'],
  b13: [text((right) => `port = 99999999999999999999\n${right}`), 'integer'],
  b14: [text((right) => `threads = 2024-05-27\n${right}`), 'threads'],
  b15: [text((right) => right.replace(/\[model\]\ndefault = .*/, 'model = ["hello"]')), 'expected a table'],
  b16: [text((right) => `enabled = true\n${right}`), 'enabled is gone'],
  b17: [text((right) => `aliases = ["b17"]\n${right}`), 'own name'],
  b18: [text((right) => `type = "lmm"\n${right}`), 'type'],
  b19: [text((right) => `priority = 101\n${right}`), '0 to 100'],
}

/** Files that are everybody's. */
const SHARED: Readonly<Record<string, readonly [Break, string]>> = {
  'lanes/l1.toml': [text(() => 'gpus = [0, 0]\n'), 'each GPU once'],
  'lanes/l2.toml': [text(() => 'devise = "cpu"\n'), 'did you mean device?'],
  'stacks.toml': [text(() => '[stack.x]\n'), 'name'],
  'profiles.toml': [text(() => '[profiles.mine]\nctx_size = "big"\n'), 'ctx_size'],
  'models.toml': [text((right) => `${right}\n[models.third]\n`), 'path or files'],
  'hal0.toml': [text((right) => `${right}\n[servr]\n`), 'did you mean server?'],
}

it('a home whose files break one after the other keeps what runs, says every mistake, and is as before when they are mended', async () => {
  const names = Object.keys(SLOTS)
  const at = await startTestDaemon(Object.fromEntries(names.map((name) => [name, {}])))
  const pathOf = (name: string) => join(at.home.etc, 'slots', `${name}.toml`)
  const all = [
    ...Object.entries(SLOTS).map(([name, row]) => [pathOf(name), ...row] as const),
    ...Object.entries(SHARED).map(([name, row]) => [join(at.home.etc, name), ...row] as const),
  ]
  expect(all.length).toBeGreaterThanOrEqual(25)
  await mkdir(join(at.home.etc, 'lanes'))
  const before = new Map(await Promise.all(all.map(async ([file]) => [file, await readOr(file)] as const)))

  await at.load('a')
  const { pid } = at.row('a')
  const response = await at.chat({
    stream: true,
    max_tokens: 1_000_000,
    ignore_eos: true,
    fake: { tokens_per_second: 100 },
  })
  const reader = response.body?.getReader()
  if (reader === undefined) throw new Error('no body')
  const streams = async () => expect((await reader.read()).done).toBe(false)
  await streams()

  for (const [file, breakIt] of all) {
    await breakIt(file, before.get(file) ?? '')
    await streams()
    expect(at.row('a')).toMatchObject({ pid, state: 'serving' })
  }
  await eventually(() => names.every((name) => typeof at.daemon.slots.row(name)?.config_problem === 'string'))
  await streams()

  for (const name of names.slice(1)) {
    const refused = await at.chat({ model: name })
    expect([name, refused.status, refused.headers.get('retry-after')]).toEqual([name, 503, null])
    expect(await refused.json()).toMatchObject({ error: { code: 'config.invalid' } })
  }
  // What runs answers new requests too.
  expect((await at.chat({ model: 'a' })).status).toBe(200)

  const { mistakes } = await validateHome(at.home)
  for (const [file, , word] of all) {
    const said = mistakes.filter((one) => one.file === file).map((one) => `${one.key}: ${one.message}`)
    expect(said.join('; '), file).toContain(word)
  }
  const cli = await runCli(['config', 'validate', '--home', at.folder, '--json'], { userFolder: at.folder })
  expect(cli.code).toBe(1)
  expect(JSON.parse(cli.stdout).mistakes).toEqual(mistakes)

  for (const [file] of all) {
    await rm(file, { recursive: true, force: true })
    const right = before.get(file)
    if (right !== undefined) await writeFile(file, right)
  }
  await eventually(() =>
    names.every((name) => {
      const row = at.daemon.slots.row(name)
      return row !== undefined && row.config_problem === null
    }),
  )
  await streams()
  expect(at.row('a')).toMatchObject({ pid, restart_needed: [] })
  await reader.cancel()
  expect(await validateHome(at.home)).toMatchObject({ mistakes: [] })
  const answers = await Promise.all(['b1', 'b10', 'b19'].map(async (model) => (await at.chat({ model })).status))
  expect(answers).toEqual([200, 200, 200])
  expect(at.row('a').pid).toBe(pid)
})

/** Undefined = there is none. */
function readOr(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch(() => undefined)
}
