import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readGgufFacts } from './gguf-facts.ts'
import { readGgufHeader } from './gguf-header.ts'
import { MAX_READS } from './header-cursor.ts'

const HELLO = fileURLToPath(new URL('../../models/hello.gguf', import.meta.url))
const UINT32 = 4
const INT32 = 5
const FLOAT32 = 6
const STRING = 8
const ARRAY = 9
const UINT64 = 10

const u32 = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
const u64 = (value: number | bigint) => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}
const text = (value: string) => Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)])
const entry = (key: string, type: number, ...value: Buffer[]) => Buffer.concat([text(key), u32(type), ...value])
const array = (type: number, count: number | bigint, ...elements: Buffer[]) =>
  Buffer.concat([u32(type), u64(count), ...elements])
const file = (entries: readonly Buffer[], how: { version?: number; count?: number | bigint } = {}) =>
  Buffer.concat([Buffer.from('GGUF'), u32(how.version ?? 3), u64(0), u64(how.count ?? entries.length), ...entries])
const architecture = entry('general.architecture', STRING, text('llama'))
const contextLength = entry('llama.context_length', UINT32, u32(4_096))

let folder = ''
let nth = 0
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hal0-header-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function read(content: Buffer) {
  const path = join(folder, `${nth++}.gguf`)
  await writeFile(path, content)
  const handle = await open(path, 'r')
  try {
    return await readGgufHeader(handle)
  } finally {
    await handle.close()
    await rm(path)
  }
}

async function refusal(path: string): Promise<unknown> {
  return readGgufFacts(path).then(
    () => 'was read',
    (thrown: unknown) => thrown,
  )
}

describe('readGgufHeader', () => {
  it('reads the bundled model', async () => {
    const { nativeCtxTokens, reads } = await readGgufFacts(HELLO)
    expect(nativeCtxTokens).toBe(2_048)
    expect(reads).toBe(1)
  })

  it.each([
    ['in order', file([architecture, contextLength]), 4_096],
    ['the window first', file([contextLength, architecture]), 4_096],
    ['version 2', file([architecture, contextLength], { version: 2 }), 4_096],
    ['a window of 64 bits', file([architecture, entry('llama.context_length', UINT64, u64(131_072))]), 131_072],
    ['the window of another architecture', file([architecture, entry('bert.context_length', UINT32, u32(1))]), null],
    ['no window', file([architecture]), null],
    ['no architecture', file([contextLength]), null],
    ['no keys', file([]), null],
    ['a negative window', file([architecture, entry('llama.context_length', INT32, u32(0xff_ff_ff_ff))]), null],
    ['a window that is no number', file([architecture, entry('llama.context_length', STRING, text('9'))]), null],
    [
      'the first of two equal keys',
      file([contextLength, entry('llama.context_length', UINT32, u32(1)), architecture]),
      4_096,
    ],
    [
      'arrays of arrays',
      file([entry('a', ARRAY, array(ARRAY, 1, array(STRING, 1, text('x')))), architecture, contextLength]),
      4_096,
    ],
    [
      'a string larger than a chunk',
      file([entry('a', STRING, text('x'.repeat(1_000_000))), architecture, contextLength]),
      4_096,
    ],
    ['damage behind what matters', file([architecture, contextLength, entry('x', 99)]), 4_096],
  ])('%s', async (_name, content, nativeCtxTokens) => {
    expect(await read(content)).toMatchObject({ ok: true, value: { nativeCtxTokens } })
  })

  const HUGE = 2n ** 64n - 1n
  it.each([
    ['only the magic', Buffer.from('GGUF'), 'ends before'],
    ['an unknown version', file([], { version: 77 }), 'unknown version 77'],
    ['big-endian', file([], { version: 0x03_00_00_00 }), 'big-endian'],
    ['more keys than bytes', file([], { count: HUGE }), 'counts'],
    ['keys that are not there', file([contextLength], { count: 3 }), 'ends before'],
    ['a key without end', file([Buffer.concat([u64(HUGE)])]), 'counts'],
    ['a key too long for the format', file([text('k'.repeat(65_536))]), 'a key of 65536 bytes'],
    ['an unknown type', file([entry('a', 13)]), 'unknown type 13'],
    ['a huge array of strings', file([entry('a', ARRAY, array(STRING, HUGE))]), 'counts'],
    ['a huge array of numbers', file([entry('a', ARRAY, array(FLOAT32, 2n ** 62n))]), 'counts'],
    ['an array past the end', file([entry('a', ARRAY, array(FLOAT32, 4, u32(0)))]), 'where the file has 4 left'],
    ['an array cut short', file([entry('a', ARRAY, array(STRING, 2, text('x')))], { count: 1 }), 'ends before'],
    [
      'endless nesting',
      file([entry('a', ARRAY, ...Array.from({ length: 5_000 }, () => array(ARRAY, 1)))]),
      'nests arrays',
    ],
    [
      'too many windows',
      file(Array.from({ length: 17 }, (_, i) => entry(`${i}.context_length`, UINT32, u32(1)))),
      'windows',
    ],
  ])('says what is damaged: %s', async (_name, content, part) => {
    const outcome = await read(content)
    expect(outcome).toEqual({ ok: false, error: expect.stringContaining(part) })
  })

  // The library that was used before parsed such a file in one go and stopped all streams for 443 ms.
  it('passes over a vocabulary of 200,000 tokens in few reads, and lets the event loop turn', async () => {
    const count = 200_000
    const tokens = Buffer.concat(Array.from({ length: count }, (_, i) => text(`token-${i}`)))
    const content = file([
      entry('tokenizer.ggml.tokens', ARRAY, array(STRING, count, tokens)),
      entry('tokenizer.ggml.scores', ARRAY, array(FLOAT32, count, Buffer.alloc(4 * count))),
      entry('tokenizer.ggml.merges', ARRAY, array(STRING, count, tokens)),
      contextLength,
      architecture,
    ])
    let turns = 0
    let counting = true
    const turn = () => {
      turns++
      if (counting) setImmediate(turn)
    }
    turn()
    const outcome = await read(content)
    counting = false
    expect(outcome).toMatchObject({ ok: true, value: { nativeCtxTokens: 4_096 } })
    const reads = outcome.ok ? outcome.value.reads : 0
    expect(reads).toBeLessThanOrEqual(Math.ceil(content.length / (256 * 1024)) + 2)
    expect(turns).toBeGreaterThan(reads / 2)
  })

  it('gives up on a header that needs too many reads', async () => {
    // Each string is longer than a chunk, so each length costs a read; the file is sparse.
    const path = join(folder, 'sparse.gguf')
    const handle = await open(path, 'w+')
    try {
      const head = file([entry('a', ARRAY, array(STRING, MAX_READS + 10))], { count: 1 })
      await handle.write(head, 0, head.length, 0)
      const stringBytes = 300_000
      for (let i = 0; i < MAX_READS + 10; i++) {
        await handle.write(u64(stringBytes), 0, 8, head.length + i * (8 + stringBytes))
      }
      await handle.truncate(head.length + (MAX_READS + 11) * (8 + stringBytes))
      expect(await readGgufHeader(handle)).toEqual({ ok: false, error: expect.stringContaining(`${MAX_READS} reads`) })
    } finally {
      await handle.close()
    }
  })

  it('ends with an answer whatever the bytes are', async () => {
    const hello = (await readFile(HELLO)).subarray(0, 60_000)
    const mutated = fc
      .tuple(
        fc.array(fc.tuple(fc.nat(hello.length - 1), fc.integer({ min: 0, max: 255 })), { maxLength: 12 }),
        fc.array(fc.tuple(fc.nat(200), fc.integer({ min: 0, max: 255 })), { maxLength: 4 }),
        fc.integer({ min: 4, max: hello.length }),
      )
      .map(([changes, early, length]) => {
        const copy = Buffer.from(hello)
        for (const [at, byte] of [...changes, ...early]) copy[at] = byte
        return copy.subarray(0, length)
      })
    const random = fc
      .uint8Array({ maxLength: 2_000 })
      .map((bytes) => Buffer.concat([Buffer.from('GGUF'), u32(3), Buffer.from(bytes)]))
    await fc.assert(
      fc.asyncProperty(fc.oneof(mutated, random), async (content) => {
        const outcome = await read(content)
        if (outcome.ok) {
          const { nativeCtxTokens, reads } = outcome.value
          expect(nativeCtxTokens === null || (Number.isSafeInteger(nativeCtxTokens) && nativeCtxTokens > 0)).toBe(true)
          expect(reads).toBeLessThanOrEqual(MAX_READS)
        } else expect(outcome.error).toMatch(/^(ends|is|has|names|counts|nests) /)
      }),
      { numRuns: 300 },
    )
  })
})

describe('readGgufFacts', () => {
  it('opens nothing but a regular file that starts like a GGUF, and waits for nobody', async () => {
    const pipe = join(folder, 'pipe.gguf')
    await promisify(execFile)('mkfifo', [pipe])
    await mkdir(join(folder, 'folder.gguf'))
    await writeFile(join(folder, 'empty.gguf'), '')
    await writeFile(join(folder, 'text.gguf'), 'hello')
    const places = ['absent.gguf', 'pipe.gguf', 'folder.gguf', 'empty.gguf', 'text.gguf'].map((name) =>
      join(folder, name),
    )
    for (const path of [...places, '/dev/zero']) {
      expect(await refusal(path)).toMatchObject({ code: 'slot.model_missing', message: expect.stringContaining(path) })
    }
  })

  it('names the file and what is damaged', async () => {
    const path = join(folder, 'damaged.gguf')
    await writeFile(path, file([entry('a', 13)]))
    expect(await refusal(path)).toMatchObject({
      code: 'slot.config_error',
      message: `${path} has a damaged GGUF header: it has a value of the unknown type 13`,
    })
  })
})
