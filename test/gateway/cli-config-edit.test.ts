import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { repoRoot } from '../support/run-cli.ts'

/** util-linux: runs a command on a terminal of its own. */
const hasScript = spawnSync('script', ['--version']).status === 0
if (!hasScript) console.log('skipped: there is no program `script` (util-linux) to make a terminal with')

const main = join(repoRoot, 'dist/cli/main.js')
let folder = ''
let home = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-config-edit-'))
  home = join(folder, 'home')
  await mkdir(join(home, 'etc/hal0/slots'), { recursive: true })
  await mkdir(join(folder, 'tmp'))
  await writeFile(join(home, 'etc/hal0/hal0.toml'), '# mine\n[server]\nport = 8080\n')
  await chmod(join(home, 'etc/hal0/hal0.toml'), 0o600)
  await writeFile(join(home, 'etc/hal0/slots/mine.toml'), '# a slot\nname = "mine"\n')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** Runs `hal0 config edit …` on a terminal with a shell script as editor; answers each question with the next answer. */
async function edit(args: string, editor: string, answers: readonly string[] = []) {
  const script = join(folder, 'editor.sh')
  await writeFile(script, `#!/bin/sh\n${editor}\n`)
  await chmod(script, 0o755)
  const terminal = spawn('script', ['-qefc', `node ${main} --home ${home} config edit ${args}`, '/dev/null'], {
    env: { ...process.env, EDITOR: script, VISUAL: '', TMPDIR: join(folder, 'tmp'), HOME: folder },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const left = [...answers]
  let said = ''
  let seen = 0
  terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
    const asked = said.split('[Y/n]').length - 1
    for (; seen < asked; seen++) terminal.stdin.write(`${left.shift() ?? 'n'}\n`)
  })
  await once(terminal, 'close')
  return { code: terminal.exitCode, said }
}

const settings = () => readFile(join(home, 'etc/hal0/hal0.toml'), 'utf8')

describe.runIf(hasScript)('config edit', () => {
  it('writes what has no mistakes, as it was typed, with the rights of the file', async () => {
    const run = await edit('hal0', 'sed -i s/8080/8181/ "$1"')
    expect(run).toMatchObject({ code: 0, said: expect.stringContaining('saved; a daemon that runs reads it at once') })
    expect(await settings()).toBe('# mine\n[server]\nport = 8181\n')
    expect((await stat(join(home, 'etc/hal0/hal0.toml'))).mode & 0o777).toBe(0o600)
    expect(await readdir(join(folder, 'tmp'))).toEqual([])
  })

  it('offers a text with mistakes again, and names each by the file itself', async () => {
    const editor = 'if grep -q prot "$1"; then sed -i "s/prot/port/" "$1"; else sed -i "s/port/prot/" "$1"; fi'
    const run = await edit('hal0', editor, ['y'])
    expect(run.said).toContain(`${home}/etc/hal0/hal0.toml: server.prot: `)
    expect(run).toMatchObject({ code: 0, said: expect.stringContaining('not changed') })
  })

  it('hal0.toml: says which of the changed keys wait for the next start of the daemon', async () => {
    const waits = await edit('hal0', 'sed -i s/8080/8123/ "$1"')
    expect(waits).toMatchObject({
      code: 0,
      said: expect.stringContaining('at once, but server.port at its next start'),
    })
    const counts = await edit('hal0', 'printf "[dispatcher]\\nload_wait_s = 5\\n" >> "$1"')
    expect(counts).toMatchObject({ code: 0, said: expect.stringMatching(/reads it at once\s*$/) })
  })

  it('who gives up leaves the file as it was, and is told where the text is', async () => {
    const run = await edit('hal0', 'echo "oops = " >> "$1"', ['n'])
    expect(run).toMatchObject({ code: 1, said: expect.stringMatching(/your text is in .*hal0\.toml/) })
    expect(run.said).toContain('(not_saved)')
    expect(await settings()).toBe('# mine\n[server]\nport = 8080\n')
  })

  it('a slot passes the gate, comments and all', async () => {
    const denied = await edit('slot mine', 'printf "[model]\\ncontext_size = 4096\\n" >> "$1"', ['n'])
    expect(denied).toMatchObject({ code: 1, said: expect.stringContaining('model.context_size') })
    const run = await edit('slot mine', 'echo "priority = 7" >> "$1"')
    expect(run).toMatchObject({ code: 0, said: expect.stringContaining('hal0 slot restart mine applies it') })
    expect(await readFile(join(home, 'etc/hal0/slots/mine.toml'), 'utf8')).toBe(
      '# a slot\nname = "mine"\npriority = 7\n',
    )
  })

  // It was saved with replacement characters in place of the letters.
  it('takes no bytes that are not UTF-8, and gives those of the file to the editor as they are', async () => {
    const file = join(home, 'etc/hal0/slots/mine.toml')
    const latin = Buffer.from('# caf\xe9\nname = "mine"\n', 'latin1')
    await writeFile(file, latin)
    const kept = await edit('slot mine', 'echo "priority = 7" >> "$1"', ['n'])
    expect(kept).toMatchObject({ code: 1, said: expect.stringContaining('expected text in UTF-8 (line 1') })
    expect(await readFile(file)).toEqual(latin)
    const mended = await edit('slot mine', 'iconv -f latin1 -t utf-8 "$1" > "$1.new" && mv "$1.new" "$1"')
    expect(mended).toMatchObject({ code: 0 })
    expect(await readFile(file, 'utf8')).toBe('# café\nname = "mine"\n')
  })

  it('an editor that removes its file changes nothing, and is named', async () => {
    const run = await edit('hal0', 'rm "$1"')
    expect(run).toMatchObject({ code: 1, said: expect.stringMatching(/The editor removed .*\(not_saved\)/s) })
    expect(run.said).not.toContain('your text is in')
    expect(await settings()).toBe('# mine\n[server]\nport = 8080\n')
    expect(await readdir(join(folder, 'tmp'))).toEqual([])
  })

  it('what someone else wrote meanwhile is not written over', async () => {
    const file = join(home, 'etc/hal0/hal0.toml')
    const run = await edit('hal0', `sed -i s/8080/1/ "$1"; echo "# theirs" >> ${file}`)
    expect(run).toMatchObject({ code: 1, said: expect.stringContaining('changed by someone else') })
    expect(await settings()).toContain('# theirs')
  })

  it('a mistake elsewhere that was there before is in nobody’s way; one that the edit brings is', async () => {
    await writeFile(join(home, 'etc/hal0/slots/other.toml'), 'name = "other"\ndevice = "tpu"\n')
    await writeFile(join(home, 'etc/hal0/profiles.toml'), '[profiles.own]\nctx_size = 4096\n')
    await writeFile(join(home, 'etc/hal0/slots/mine.toml'), 'name = "mine"\nprofile = "own"\n')
    expect(await edit('profiles', 'sed -i s/4096/8192/ "$1"')).toMatchObject({ code: 0 })
    const run = await edit('profiles', 'sed -i s/own/other/ "$1"', ['n'])
    expect(run).toMatchObject({ code: 1, said: expect.stringContaining('mine.toml: profile: ') })
  })

  it('an editor that fails, and a slot that is not there', async () => {
    expect(await edit('hal0', 'exit 3')).toMatchObject({ code: 1, said: expect.stringContaining('ended with 3') })
    expect(await edit('slot nope', 'true')).toMatchObject({ code: 1, said: expect.stringContaining('no slot file') })
  })
})
