import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { parse, stringify } from 'smol-toml'
import { describe, expect, it } from 'vitest'
import { editToml } from './edit-toml.ts'
import { isSameData } from './rules/same-data.ts'
import { writeToml } from './write-toml.ts'

const TWO_TABLES = `# top

# about a
[profiles.a]
flags = [
  "x", # one
]

# about b
[profiles.b]
ctx_size=3   # n
`

describe('editToml', () => {
  it.each([
    {
      name: 'a table goes, with the comment right above it',
      text: TWO_TABLES,
      next: { profiles: { b: { ctx_size: 3 } } },
      expected: '# top\n\n# about b\n[profiles.b]\nctx_size=3   # n\n',
    },
    {
      name: 'a table comes at the end',
      text: 'a = 1 # one\n',
      next: { a: 1, t: { b: { k: 'v' } } },
      expected: 'a = 1 # one\n\n[t.b]\nk = "v"\n',
    },
    {
      name: 'a key comes behind the last one of its table, above the comment of the next',
      text: '[a]\nx = 1\n\n# about b\n[b]\n',
      next: { a: { x: 1, y: true }, b: {} },
      expected: '[a]\nx = 1\ny = true\n\n# about b\n[b]\n',
    },
    {
      name: 'a value changes, its comment stays',
      text: '[a]\nx = "1#" # keep "me"\n',
      next: { a: { x: '2' } },
      expected: '[a]\nx = "2" # keep "me"\n',
    },
    {
      name: 'a list grows, comments inside stay',
      text: 'l = [\n  "x", # one\n]\n',
      next: { l: ['x', 'y'] },
      expected: 'l = [\n  "x", # one\n  "y",\n]\n',
    },
    {
      name: 'an inline table stays one',
      text: 'm = { a = { path = "/x" } } # c\n',
      next: { m: { a: { path: '/y' } } },
      expected: 'm = { a = { path = "/y" } } # c\n',
    },
    {
      name: 'dotted keys get a dotted sister',
      text: 'm.a = 1 # one\n[t]\nk = 1\n',
      next: { m: { a: 1, b: 2 }, t: { k: 1 } },
      expected: 'm.a = 1 # one\nm.b = 2\n[t]\nk = 1\n',
    },
    {
      name: 'the first root key stands above the first table and below the opening comment',
      text: '# mine\n\n# t\n[t]\nk = 1',
      next: { name: 'a', t: { k: 1, l: 2 } },
      expected: '# mine\n\nname = "a"\n\n# t\n[t]\nk = 1\nl = 2\n',
    },
    {
      name: 'CRLF and byte order mark stay',
      text: '\uFEFFa = 1 # one\r\n[t]\r\nk = 1\r\n',
      next: { a: 2, t: { k: 1, l: 2 }, u: { v: 'w' } },
      expected: '\uFEFFa = 2 # one\r\n[t]\r\nk = 1\r\nl = 2\r\n\r\n[u]\r\nv = "w"\r\n',
    },
    {
      name: 'a key by the name of a prototype is a key',
      text: '[models]\n"__proto__" = 1 # odd\n"constructor" = 2\n',
      next: parse('[models]\n"__proto__" = 1\n"constructor" = 3\n'),
      expected: '[models]\n"__proto__" = 1 # odd\n"constructor" = 3\n',
    },
    {
      name: 'dates, floats and long strings that do not change stay as written',
      text: 'd = 1979-05-27 07:32:00Z\nf = 1.0\nu = 1_000\ns = """a\n# no comment\n"""\nx = 1\n',
      next: { ...parse('d = 1979-05-27 07:32:00Z\nf = 1.0\nu = 1_000\ns = """a\n# no comment\n"""\n'), x: 2 },
      expected: 'd = 1979-05-27 07:32:00Z\nf = 1.0\nu = 1_000\ns = """a\n# no comment\n"""\nx = 2\n',
    },
    {
      name: 'a quoted key with a dot is one key',
      text: '[models."a.b/c"] # q\npath = "/x"\n',
      next: { models: { 'a.b/c': { path: '/y', tags: ['t'] } } },
      expected: '[models."a.b/c"] # q\npath = "/y"\ntags = ["t"]\n',
    },
    { name: 'the last table goes', text: '# top\n[m.a]\nk = 1\n', next: {}, expected: '# top\n' },
  ])('$name', ({ text, next, expected }) => {
    expect(editToml(text, next)).toEqual({ text: expected, keptComments: true })
  })

  it('means what was asked for when a list of tables changes', () => {
    const edited = editToml('a = 1 # c\n[[b]]\nx = 1 # k\n[[b]]\nx = 2\n', { a: 1, b: [{ x: 1 }, { x: 3, y: [] }] })
    expect(parse(edited.text)).toEqual({ a: 1, b: [{ x: 1 }, { x: 3, y: [] }] })
    expect(edited.text).toContain('# c')
  })

  it('takes a key that is undefined for an absent one', () => {
    expect(editToml('a = 1\nb = 2\n', { a: 1, b: undefined }).text).toBe('a = 1\n')
  })
})

const key = fc.oneof(
  fc.constantFrom('a', 'b', 'c', 'name', 'x y', 'q.r', '#h', '__proto__', 'constructor', '"', 'ü', ''),
  fc.string({ minLength: 1, maxLength: 3 }),
)
const single = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.constantFrom('# no comment', 'a"b', "it's", '"""', 'x\ny', '\r\n', '\\', '\u0000', '[t]'),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
)
const { table } = fc.letrec<{ value: unknown; table: Record<string, unknown> }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', maxDepth: 3, withCrossShrink: true },
    single,
    fc.array(single, { maxLength: 4 }),
    fc.array(tie('table'), { minLength: 1, maxLength: 2 }),
    tie('table'),
  ),
  table: fc.dictionary(key, tie('value'), { maxKeys: 4 }),
}))

/** Puts a comment of its own behind each table's header and each one-line pair, and answers which key path it stands at. */
function commented(text: string): { text: string; comments: string[] } {
  const comments: string[] = []
  let inString = false
  const lines = text.split('\n').map((line) => {
    if (line.trim() === '' || inString || line.includes('"""')) {
      inString = inString !== ((line.split('"""').length - 1) % 2 === 1)
      return line
    }
    comments.push(`# note ${comments.length}`)
    return `${line} # note ${comments.length - 1}`
  })
  return { text: lines.join('\n'), comments }
}

describe('any document and any edit', () => {
  it('comes out as what was asked for', () => {
    fc.assert(
      fc.property(table, table, (before, next) => {
        const edited = editToml(stringify(before), next)
        expect(isSameData(parse(edited.text), next)).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  it('keeps every comment when a key is added or a value changes, and all but its own when a table goes', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), fc.dictionary(fc.stringMatching(/^[a-z._ ]{1,6}$/), single), {
          minKeys: 2,
        }),
        single,
        fc.nat(),
        (data, value, pick) => {
          const { text, comments } = commented(stringify({ rows: data }))
          const names = Object.keys(data)
          const name = names[pick % names.length] ?? ''
          const row = data[name] ?? {}
          const added = editToml(text, { rows: { ...data, [name]: { ...row, added: value } } })
          const first = Object.keys(row)[0]
          const changed = editToml(text, { rows: { ...data, [name]: { ...row, ...(first && { [first]: value }) } } })
          for (const edited of [added, changed]) {
            expect(edited.keptComments).toBe(true)
            for (const comment of comments) expect(edited.text).toContain(comment)
          }
          const rest = { ...data }
          delete rest[name]
          const removed = editToml(text, { rows: rest })
          expect(removed.text.split('# note').length).toBe(text.split('# note').length - 1 - Object.keys(row).length)
          expect(removed.keptComments).toBe(true)
        },
      ),
      { numRuns: 300 },
    )
  })
})

describe('writeToml', () => {
  it('keeps a copy of a file whose comments it cannot keep, never over an older copy', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'hal0-toml-'))
    try {
      const path = join(folder, 'x.toml')
      // Comments between and inside the tables of a list have no place when the list is replaced.
      const before = '# one\n[[b]] # two\nx = 1 # three\n# four\n[[b]]\nx = 2 # five\n'
      await writeFile(`${path}.bak-1`, 'older')
      await writeFile(path, before)
      const written = await writeToml(path, before, { b: 'none' })
      expect(parse(await readFile(path, 'utf8'))).toEqual({ b: 'none' })
      expect(written.backup).toBe(`${path}.bak-2`)
      expect(await readFile(`${path}.bak-2`, 'utf8')).toBe(before)
      expect(await readFile(`${path}.bak-1`, 'utf8')).toBe('older')
      expect((await readdir(folder)).toSorted()).toEqual(['x.toml', 'x.toml.bak-1', 'x.toml.bak-2'])
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})
