import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { validateHome } from '../../config/home/validate-home.ts'
import { withWriteLock } from '../../config/home/write-lock.ts'
import { guardSlotText } from '../../config/slots/slot-gate.ts'
import { writeSlotFile } from '../../config/slots/write-slot.ts'
import { readConfigText } from '../../config/toml/config-text.ts'
import { describeMistake } from '../../config/toml/mistake.ts'
import type { ConfigMistakeRow } from '../../contract/config-report.ts'
import { writeFileWhole } from '../../files/atomic-write.ts'
import type { Home } from '../../files/home.ts'
import { isNotFound } from '../../kernel/errors.ts'
import { chooseHome } from '../choose-home.ts'
import { CliError, UsageError } from '../cli-error.ts'
import { type EditTarget, editTargetOf } from '../edit-target.ts'
import { type GlobalOptions, outputOf } from '../globals.ts'
import type { Output } from '../output.ts'

/**
 * `hal0 config edit FILE`: an editor on a copy, which is checked together with all other files and written in one step when it brings no
 * mistake; else it is offered again. JSON: `{file, changed}`. Errors: UsageError (no terminal, no such file), `not_saved` (CliError).
 */
export async function configEdit(what: string, name: string | undefined, globals: GlobalOptions): Promise<void> {
  const output = outputOf(globals)
  const home = await chooseHome(globals)
  const target = editTargetOf(home, what, name)
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new UsageError(
      'config edit needs a terminal for the editor.',
      `Change ${target.file} itself, and check it with \`hal0 config validate\`.`,
    )
  }
  const before = await bytesOf(target)
  const folder = await mkdtemp(join(tmpdir(), 'hal0-edit-'))
  const draft = join(folder, basename(target.file))
  let keepDraft = true
  try {
    await writeFile(draft, before ?? '', { mode: 0o600 })
    const text = await editUntilRight(home, target, draft, output)
    const changed = !isSameText(before, text)
    if (changed) await save(home, target, before, text)
    keepDraft = false
    output.result(
      { file: target.file, changed },
      () => `${target.file}: ${changed ? target.afterwards(before?.toString() ?? '', text) : 'not changed'}`,
    )
  } finally {
    const isLeft = keepDraft && (await readConfigText(draft)) !== 'absent'
    if (isLeft) output.note(`hal0: your text is in ${draft}`)
    else await rm(folder, { recursive: true, force: true })
  }
}

/** The text once it has no mistakes. Errors: `not_saved` when the person gives up, or the editor fails. */
async function editUntilRight(home: Home, target: EditTarget, draft: string, output: Output): Promise<string> {
  const known = new Set((await validateHome(home)).mistakes.map(textOfMistake))
  while (true) {
    await runEditor(draft)
    const text = await readConfigText(draft)
    if (text === 'absent') {
      throw new CliError('not_saved', `The editor removed ${draft}: ${target.file} is as it was.`, 'Edit it again.')
    }
    if (text.ok) {
      const mistakes = (await mistakesWith(home, target, text.value)).filter(
        (one) => one.file === target.file || !known.has(textOfMistake(one)),
      )
      if (mistakes.length === 0) return text.value
      for (const mistake of mistakes) output.note(textOfMistake(mistake))
    } else {
      output.note(describeMistake(text.error))
    }
    if (!(await isAgreed('Edit it again? [Y/n] '))) {
      throw new CliError('not_saved', `${target.file} is as it was: the edited text has mistakes.`)
    }
  }
}

/** What would be wrong with the home if the file were so. A copy of the home's settings is asked, so nothing reads the draft too early. */
async function mistakesWith(home: Home, target: EditTarget, text: string): Promise<readonly ConfigMistakeRow[]> {
  const folder = await mkdtemp(join(tmpdir(), 'hal0-check-'))
  try {
    const etc = join(folder, 'etc')
    await cp(home.etc, etc, { recursive: true, dereference: true }).catch((cause: unknown) => {
      if (!isNotFound(cause)) throw cause
    })
    const copy = join(etc, target.file.slice(home.etc.length))
    await mkdir(dirname(copy), { recursive: true })
    await writeFile(copy, text)
    const { mistakes } = await validateHome({ ...home, etc })
    const real = (words: string) => words.replaceAll(etc, home.etc)
    return mistakes.map((one) => ({ ...one, file: real(one.file), message: real(one.message) }))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function save(home: Home, target: EditTarget, before: Buffer | undefined, text: string): Promise<void> {
  await withWriteLock(home, async () => {
    const now = await bytesOf(target)
    if (now === undefined ? before !== undefined : before === undefined || !now.equals(before)) {
      throw new CliError('not_saved', `${target.file} was changed by someone else meanwhile.`, 'Edit it again.')
    }
    if (target.slot !== undefined) {
      return writeSlotFile(home, guardSlotText(text, { file: target.file, name: target.slot, source: 'cli' }))
    }
    await writeFileWhole(target.file, text)
  })
}

function isSameText(before: Buffer | undefined, text: string): boolean {
  return Buffer.from(text).equals(before ?? Buffer.alloc(0))
}

/** Bytes, so that an editor gets what is no UTF-8 as it is. Undefined = there is no such file; only a slot must have one. */
async function bytesOf({ file, slot }: EditTarget): Promise<Buffer | undefined> {
  try {
    return await readFile(file)
  } catch (cause) {
    if (!isNotFound(cause)) throw cause
    if (slot === undefined) return undefined
    throw new CliError('no_file', `There is no slot file ${file}.`, 'Make the slot with `hal0 slot create`.')
  }
}

/** The editor may be a command with options, as in `EDITOR="code --wait"`. */
async function runEditor(draft: string): Promise<void> {
  const editor = process.env['VISUAL'] || process.env['EDITOR'] || 'vi'
  const child = spawn('sh', ['-c', `${editor} "$1"`, 'sh', draft], { stdio: 'inherit' })
  const [code] = await once(child, 'close')
  if (code === 0) return
  throw new CliError(
    'not_saved',
    `The editor (${editor}) ended with ${code}; nothing was saved.`,
    'Set VISUAL or EDITOR.',
  )
}

async function isAgreed(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const closed = once(terminal, 'close').then(() => 'no')
    const answer = await Promise.race([terminal.question(question), closed])
    return !/^\s*n/i.test(answer)
  } finally {
    terminal.close()
  }
}

function textOfMistake({ file, key, message }: ConfigMistakeRow): string {
  return key === '' ? `${file}: ${message}` : `${file}: ${key}: ${message}`
}
