import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Everything by which a file can come to be, change or go. `open` can; whoever only reads says so in the table. */
const WRITERS =
  /^(writeFile|appendFile|createWriteStream|rename|copyFile|cp|open|openAsBlob|write|writev|truncate|ftruncate|link|symlink|rm|rmdir|unlink|mkdtemp|promises)(Sync)?$|^(writeFileWhole|writeFileAtomic|writeRunFile|writeToml|backUp|writeSlotFile|patchSlotFile|renameSlotFile|removeSlotFile|writeLaneFile|removeLaneFile)$/
/** Modules that have such functions: Node's own, and hal0's. */
const DOORS =
  /^node:fs(\/promises)?$|^fs(\/promises)?$|^write-file-atomic$|\/(atomic-write|write-run-file|write-toml|write-slot|slot-file|write-lane)\.ts$/

/** Who may write what: the one list. A new writer is added here with its reason, or refused here. */
const ALLOWED: Readonly<Record<string, { readonly names: readonly string[]; readonly writes: string }>> = {
  'config/slots/write-slot.ts': { names: ['removeSlotFile', 'writeFileWhole', 'writeToml'], writes: 'slots/' },
  'config/slots/slot-file.ts': { names: ['rm'], writes: 'slots/: removes one' },
  'config/lanes/write-lane.ts': { names: ['rm', 'writeFileWhole', 'writeToml'], writes: 'lanes/' },
  'config/lanes/lane-admin.ts': {
    names: ['removeLaneFile', 'writeLaneFile'],
    writes: 'lanes/, what has passed inspectLane',
  },
  // These hand a GuardedSlot, or a patch, to write-slot.ts.
  'cli/agent-slot.ts': { names: ['patchSlotFile', 'writeSlotFile'], writes: 'slots/ through the gate' },
  'cli/commands/config-edit.ts': {
    names: ['cp', 'mkdtemp', 'rm', 'writeFile', 'writeFileWhole', 'writeSlotFile'],
    writes: 'slots/ through the gate; hal0.toml, profiles.toml, models.toml; drafts in the temp folder',
  },
  'config/slots/migrate-slots.ts': {
    names: ['backUp', 'writeSlotFile'],
    writes: 'slots/ through the gate; copies beside',
  },
  'config/slots/seed-slots.ts': { names: ['writeSlotFile'], writes: 'slots/ through the gate' },
  'slots/create-slot-admin.ts': {
    names: ['removeSlotFile', 'rename', 'renameSlotFile', 'writeSlotFile'],
    writes: 'slots/ through the gate; the log of a slot that is renamed',
  },
  'config/toml/write-toml.ts': {
    names: ['copyFile', 'writeFileWhole'],
    writes: 'what its callers name: all are in this table',
  },
  'config/profiles/write-profiles.ts': { names: ['writeToml'], writes: 'profiles.toml' },
  'config/models/models-file.ts': { names: ['writeFileWhole', 'writeToml'], writes: 'models.toml' },
  'config/slots/seed-record.ts': { names: ['writeFileWhole'], writes: 'var-lib: which seeds were written and deleted' },
  'config/models/delete-model-files.ts': { names: ['rmdir', 'unlink'], writes: 'the model store' },
  'config/toml/config-text.ts': { names: ['open'], writes: 'nothing: reads' },
  'config/home/write-lock.ts': { names: ['open'], writes: 'var-lib/config.lock, always empty' },
  'daemon.ts': { names: ['rm', 'writeFileWhole'], writes: 'daemon.json' },
  'access/users-marker.ts': { names: ['rm', 'writeFileWhole'], writes: 'var-lib: users.defined' },
  'slots/life/engine-key.ts': { names: ['writeRunFile'], writes: 'var-lib: the engine key' },
  'slots/launch/launch-record.ts': { names: ['writeRunFile'], writes: 'var-lib: what the engine was started with' },
  'slots/launch/write-run-file.ts': {
    names: ['writeFileAtomic'],
    writes: 'what its callers name: all are in this table',
  },
  'gateway/body/form/spool-file.ts': {
    names: ['open', 'unlink', 'write'],
    writes: 'var-lib/tmp: the rest of a form while it arrives, without a name',
  },
  'arbiter/state-file.ts': { names: ['rename', 'writeFileWhole'], writes: 'var-lib: gpu_arbiter.json' },
  'store/open-database.ts': {
    names: ['openSync', 'renameSync'],
    writes: 'var-lib: hal0.db, made with its rights, moved aside where it was damaged',
  },
  'slots/state-record.ts': { names: ['writeFileWhole'], writes: 'var-lib: state.json' },
  'slots/slot-manager.ts': { names: ['rm'], writes: 'var-lib: the state of a slot that is gone' },
  'runtimes/process/log-file.ts': {
    names: ['createWriteStream', 'open', 'rename', 'rm', 'truncate'],
    writes: 'var-log: the log of an engine',
  },
  'runtimes/process/spawn-failure.ts': { names: ['open'], writes: 'nothing: reads' },
  'api/follow-log.ts': { names: ['open'], writes: 'nothing: reads' },
  'files/append-file.ts': { names: ['openSync', 'write'], writes: 'var-log: daemon.log' },
  'files/atomic-write.ts': {
    names: ['open', 'writeFileAtomic'],
    writes: 'what its callers name: all are in this table',
  },
  'files/home-lock.ts': { names: ['open'], writes: 'var-lib: the lock of the home' },
  'files/gguf-file.ts': { names: ['open'], writes: 'nothing: reads' },
  'models/gguf-facts.ts': { names: ['promises'], writes: 'nothing: reads' },
  'models/pull/part-file.ts': { names: ['open', 'rename', 'rm', 'writeFileWhole'], writes: 'the model store' },
  'models/pull/stored-file.ts': { names: ['open'], writes: 'the model store' },
  'models/pull/store-files.ts': { names: ['open'], writes: 'the model store' },
  'models/pull/sweep-parts.ts': { names: ['rm'], writes: 'the model store' },
  'cli/lost-output.ts': { names: ['openSync'], writes: '/dev/null' },
  'cli/commands/profile-exchange.ts': { names: ['writeFile'], writes: 'the file that `profile export -o` names' },
}

/** The names that a source text imports and that can write. */
function writersIn(text: string): string[] {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\//g, '')
  const imports = [...code.matchAll(/^import\s+(?!type\b)([\s\S]*?)\s+from\s+'([^']+)'/gm)]
  const doors = imports.filter(([, , from = '']) => DOORS.test(from))
  const named = doors.flatMap(([, clause = '']) => {
    const whole = /\*\s+as\s+\w+/.exec(clause)?.[0]
    if (whole !== undefined) return [whole]
    return clause
      .replaceAll(/[{}]/g, ',')
      .split(',')
      .map((part) => part.trim().split(/\s+as\s+/)[0] ?? '')
      .filter((name) => WRITERS.test(name) || (name === 'fs' && !name.startsWith('type ')))
  })
  // Doors that this check cannot look behind.
  const hidden = [...code.matchAll(/\b(?:import|require|getBuiltinModule)\(\s*'(?:node:)?fs/g)].map(([found]) => found)
  return [...new Set([...named, ...hidden])].toSorted()
}

const sources = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
  (name) => name.endsWith('.ts') && !name.endsWith('.test.ts'),
)
const found = new Map(
  sources
    .map((name) => [name, writersIn(readFileSync(join(root, name), 'utf8'))] as const)
    .filter(([, names]) => names.length > 0),
)

describe('who writes files', () => {
  it('looks at the whole of src', () => {
    expect(sources.length).toBeGreaterThan(300)
    expect(found.size).toBeGreaterThan(20)
  })

  it('is in the table, by the doors that the table names', () => {
    const allowed = Object.entries(ALLOWED).map(([name, { names }]) => [name, names] as const)
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(allowed))
  })

  it('below slots/ it is write-slot.ts alone: nobody else has both the path and a way to write', () => {
    const raw =
      /^(writeFileWhole|writeToml|writeFile|appendFile|createWriteStream|rename|copyFile|cp|open|link|symlink|truncate)/
    const both = [...found]
      .filter(([, names]) => names.some((name) => raw.test(name)))
      .map(([name]) => name)
      .filter((name) => /\b(slotFilePath|slotsFolder)\b|etc,\s*['"`]slots/.test(readFileSync(join(root, name), 'utf8')))
    // create-slot-admin renames a log, nothing below etc.
    expect(both.toSorted()).toEqual(['config/slots/write-slot.ts', 'slots/create-slot-admin.ts'])
    const admin = readFileSync(join(root, 'slots/create-slot-admin.ts'), 'utf8')
    expect([...admin.matchAll(/[^.\w]rename\((\w+)/g)].map(([, target]) => target)).toEqual(['slotLogPath'])
  })

  it('a slot reaches the disk only as a GuardedSlot', () => {
    const text = readFileSync(join(root, 'config/slots/write-slot.ts'), 'utf8')
    const writes = [...text.matchAll(/\b(?:writeFileWhole|writeToml)\(([^\n]*)\)/g)].map(([, args]) => args)
    expect(writes).toHaveLength(4)
    for (const args of writes) expect(args).toMatch(/slot\.text|slot\.payload|guarded\.payload/)
  })
})

describe('the check itself', () => {
  it.each([
    ["import { readFile, writeFile } from 'node:fs/promises'", ['writeFile']],
    ["import { writeFileSync as w } from 'node:fs'", ['writeFileSync']],
    ["import * as fs from 'node:fs'", ['* as fs']],
    ["import fs from 'node:fs'", ['fs']],
    ["import { promises } from 'node:fs'", ['promises']],
    ["import writeFileAtomic from 'write-file-atomic'", ['writeFileAtomic']],
    ["import { writeFileWhole } from '../files/atomic-write.ts'", ['writeFileWhole']],
    ["const fs = await import('node:fs')", ["import('node:fs"]],
    ["import {\n  cp,\n  stat,\n} from 'node:fs/promises'", ['cp']],
    ["import { readFile } from 'node:fs/promises'", []],
    ["import type { FileHandle } from 'node:fs/promises'", []],
  ])('%s', (text, expected) => {
    expect(writersIn(text)).toEqual(expected)
  })
})
