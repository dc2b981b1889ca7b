import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildGguf, GGUF_TYPE, ggufEntry, ggufText, ggufU32, ggufU64 } from '../../test/support/gguf-builder.ts'
import { heldBytes } from '../../test/support/held-memory.ts'
import { readGgufHeader } from './gguf-header.ts'
import { MAX_READS } from './header-cursor.ts'
import { resolveFacts } from './rules/resolve-facts.ts'

const HELLO = fileURLToPath(new URL('../../models/hello.gguf', import.meta.url))
const CHUNK_BYTES = 256 * 1024
const { string: STRING, array: ARRAY, float32: FLOAT32 } = GGUF_TYPE

const entry = (key: string, typeNumber: number, ...value: Buffer[]) =>
  ggufEntry(key, { typeNumber, raw: Buffer.concat(value) })
const array = (type: number, count: number | bigint, ...elements: Buffer[]) =>
  Buffer.concat([ggufU32(type), ggufU64(count), ...elements])
interface Counts {
  readonly version?: number
  readonly count?: number | bigint
  readonly tensors?: number | bigint
}
const file = (entries: readonly Buffer[], how: Counts = {}) =>
  Buffer.concat([
    Buffer.from('GGUF'),
    ggufU32(how.version ?? 3),
    ggufU64(how.tensors ?? 0),
    ggufU64(how.count ?? entries.length),
    ...entries,
  ])
const tensor = (dims: readonly (number | bigint)[], type: number, offset: number | bigint, name = 't') =>
  Buffer.concat([ggufText(name), ggufU32(dims.length), ...dims.map(ggufU64), ggufU32(type), ggufU64(offset)])
const architecture = ggufEntry('general.architecture', 'llama')
const contextLength = ggufEntry('llama.context_length', 4_096)

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

describe('readGgufHeader', () => {
  it('reads the bundled model in one read', async () => {
    const handle = await open(HELLO, 'r')
    try {
      expect(await readGgufHeader(handle)).toMatchObject({ ok: true, value: { reads: 1, tensors: { count: 39 } } })
    } finally {
      await handle.close()
    }
  })

  it.each([
    ['in order', file([architecture, contextLength]), 4_096],
    ['the window first', file([contextLength, architecture]), 4_096],
    ['version 2', file([architecture, contextLength], { version: 2 }), 4_096],
    ['no keys', file([]), null],
    [
      'the first of two equal keys',
      file([contextLength, ggufEntry('llama.context_length', 1), architecture, ggufEntry('general.architecture', 'x')]),
      4_096,
    ],
    [
      'a key with a NUL is another key',
      file([ggufEntry('llama.context_length\0', 1), architecture, contextLength]),
      4_096,
    ],
    [
      'arrays of arrays',
      file([entry('a', ARRAY, array(ARRAY, 1, array(STRING, 1, ggufText('x')))), architecture, contextLength]),
      4_096,
    ],
    ['a string larger than a chunk', file([ggufEntry('a', 'x'.repeat(1_000_000)), architecture, contextLength]), 4_096],
    ['tensors of which the data overlap', overlapping(), 4_096],
  ])('%s', async (_name, content, nativeCtxTokens) => {
    const header = await read(content)
    if (!header.ok) throw new Error(header.error)
    expect(resolveFacts(header.value).facts.native_ctx).toBe(nativeCtxTokens)
  })

  function overlapping(): Buffer {
    const infos = [tensor([32], 0, 0), tensor([32], 0, 0), tensor([16], 0, 64)]
    return Buffer.concat([file([architecture, contextLength], { tensors: 3 }), ...infos, Buffer.alloc(200)])
  }

  const HUGE = 2n ** 64n - 1n
  it.each([
    ['only the magic', Buffer.from('GGUF'), 'ends before'],
    ['version 1', file([], { version: 1 }), 'unknown version 1'],
    ['an unknown version', file([], { version: 77 }), 'unknown version 77'],
    ['big-endian', file([], { version: 0x03_00_00_00 }), 'big-endian'],
    ['more keys than bytes', file([], { count: HUGE }), 'counts'],
    ['more keys than a model has', Buffer.concat([file([], { count: 10_001 }), Buffer.alloc(200_000)]), '10001 keys'],
    ['more tensors than bytes', file([], { tensors: HUGE }), 'counts'],
    ['keys that are not there', file([contextLength], { count: 3 }), 'ends before'],
    ['a key without end', file([Buffer.concat([ggufU64(HUGE)])]), 'counts'],
    ['a key too long for the format', file([ggufText('k'.repeat(65_536))]), 'a key of 65536 bytes'],
    ['an unknown type', file([entry('a', 13)]), 'unknown type 13'],
    ['an unknown type behind what matters', file([architecture, contextLength, entry('x', 99)]), 'unknown type 99'],
    ['a huge array of strings', file([entry('a', ARRAY, array(STRING, HUGE))]), 'counts'],
    ['a huge array of numbers', file([entry('a', ARRAY, array(FLOAT32, 2n ** 62n))]), 'counts'],
    ['an array past the end', file([entry('a', ARRAY, array(FLOAT32, 4, ggufU32(0)))]), 'where the file has 4 left'],
    ['an array cut short', file([entry('a', ARRAY, array(STRING, 2, ggufText('x')))], { count: 1 }), 'ends before'],
    [
      'endless nesting',
      file([entry('a', ARRAY, ...Array.from({ length: 5_000 }, () => array(ARRAY, 1)))]),
      'nests arrays',
    ],
    [
      'broad nesting',
      file([entry('a', ARRAY, array(ARRAY, 20_000, ...Array.from({ length: 20_000 }, () => array(FLOAT32, 0))))]),
      'nests more than 10000 arrays',
    ],
    [
      'too many facts',
      file(Array.from({ length: 257 }, (_, i) => ggufEntry(`${i}.context_length`, 1))),
      'more than 256 facts',
    ],
    ['a tensor that is not there', file([], { tensors: 1 }), 'ends before'],
    ['a tensor cut short', Buffer.concat([file([], { tensors: 1 }), tensor([1], 0, 0).subarray(0, 15)]), 'ends before'],
    ['a tensor of many dimensions', withTensor(tensor(Array(9).fill(1), 0, 0)), 'of 9 dimensions'],
    ['data that begin behind the end', withTensor(tensor([1], 999, 4_096)), 'cut short'],
    ['data that end behind the end', withTensor(tensor([4_096], 1, 0)), 'cut short'],
    ['more elements than numbers', withTensor(tensor([HUGE, HUGE, HUGE, HUGE], 0, 0)), 'cut short'],
    ['a name of half the file', withTensor(tensor([1], 0, 0, 'n'.repeat(70_000))), 'a tensor name of 70000 bytes'],
  ])('says what is damaged: %s', async (_name, content, part) => {
    const outcome = await read(content)
    expect(outcome).toEqual({ ok: false, error: expect.stringContaining(part) })
  })

  function withTensor(info: Buffer): Buffer {
    return Buffer.concat([file([architecture], { tensors: 1 }), info, Buffer.alloc(100)])
  }

  it('does not count the elements of a tensor that no number can hold', async () => {
    // Of an unknown type, so that nothing says how many bytes they would take.
    expect(await read(withTensor(tensor([2n ** 63n, 2n ** 63n], 999, 0)))).toMatchObject({
      ok: true,
      value: { tensors: { elements: null } },
    })
  })

  // The library that was used before parsed such a file in one go and stopped all streams for 443 ms.
  it('passes over a vocabulary of 200,000 tokens in few reads, and lets the event loop turn', async () => {
    const count = 200_000
    const tokens = Buffer.concat(Array.from({ length: count }, (_, i) => ggufText(`token-${i}`)))
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
    if (!outcome.ok) throw new Error(outcome.error)
    expect(resolveFacts(outcome.value).facts).toMatchObject({ native_ctx: 4_096, kv: { vocabulary: count } })
    expect(outcome.value.reads).toBeLessThanOrEqual(Math.ceil(content.length / CHUNK_BYTES) + 2)
    expect(turns).toBeGreaterThan(outcome.value.reads / 2)
  })

  /** A file in which each of `count` names is longer than a chunk, so that each costs a read; it is sparse. */
  async function withLongNames(head: Buffer, count: number, run: (path: string) => Promise<void>): Promise<void> {
    const path = join(folder, 'sparse.gguf')
    const stringBytes = 300_000
    const handle = await open(path, 'w')
    await handle.write(head, 0, head.length, 0)
    for (let i = 0; i < count; i++) await handle.write(ggufU64(stringBytes), 0, 8, head.length + i * (8 + stringBytes))
    await handle.truncate(head.length + (count + 1) * (8 + stringBytes))
    await handle.close()
    await run(path)
    await rm(path)
  }

  it('gives up on a header that needs too many reads', async () => {
    const head = file([entry('a', ARRAY, array(STRING, MAX_READS + 10))], { count: 1 })
    await withLongNames(head, MAX_READS + 10, async (path) => {
      const handle = await open(path)
      expect(await readGgufHeader(handle)).toEqual({ ok: false, error: expect.stringContaining(`${MAX_READS} reads`) })
      await handle.close()
    })
  })

  it('keeps what the keys said when only the tensors need too many reads', async () => {
    // The strings leave one or two reads for 50,000 tensors.
    const tokens = MAX_READS - 1
    const head = file([architecture, contextLength, entry('a', ARRAY, array(STRING, tokens))], { tensors: 50_000 })
    await withLongNames(head, tokens, async (path) => {
      const info = tensor([1], 999, 0, 'n'.repeat(30_000))
      const handle = await open(path, 'r+')
      const { size } = await handle.stat()
      // Behind the last string; what withLongNames left there is overwritten.
      let at = size - 300_008
      for (let i = 0; i < 100; i++) at += (await handle.write(info, 0, info.length, at)).bytesWritten
      await handle.truncate(at + 10_000_000)
      const header = await readGgufHeader(handle)
      await handle.close()
      if (!header.ok) throw new Error(header.error)
      expect(header.value.tensors).toMatchObject({ count: 50_000, elements: null })
      expect(header.value.reads).toBe(MAX_READS)
      expect(resolveFacts(header.value).facts).toMatchObject({ native_ctx: 4_096, parameters: null })
    })
  })
})

describe('whatever the bytes are', () => {
  const LAYERS = 40
  const small = buildGguf({
    keys: {
      'llama.context_length': 4_096,
      'llama.block_count': LAYERS,
      'llama.attention.head_count_kv': Array.from({ length: LAYERS }, () => 8),
      'tokenizer.ggml.tokens': ['a', 'bc', 'def', ''],
      'tokenizer.ggml.scores': { type: 'float32', items: [0, 1, 2, 3] },
      'tokenizer.chat_template': '{{ messages }}',
      'split.no': { type: 'uint16', value: 0 },
    },
    tensors: [
      { name: 'a.weight', shape: [32, 4], type: 8 },
      { name: 'b.weight', shape: [32], type: 0 },
    ],
  })

  /** Lengths that lie: nothing, one, and what a signed or unsigned 32 or 64 bit number holds at most. */
  const lies = fc.constantFrom(0n, 1n, 2n ** 31n - 1n, 2n ** 32n - 1n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n)
  type Mutation = (copy: Buffer) => Buffer
  function mutationOf(base: Buffer): fc.Arbitrary<Mutation> {
    const at = fc.oneof(fc.nat(Math.min(400, base.length - 8)), fc.nat(base.length - 8))
    const flip = fc.tuple(at, fc.nat(7)).map(([place, bit]): Mutation => {
      return (copy) => Buffer.from(copy.map((byte, nthByte) => (nthByte === place ? byte ^ (1 << bit) : byte)))
    })
    const lie = fc.tuple(at, lies).map(([place, count]): Mutation => {
      return (copy) => Buffer.concat([copy.subarray(0, place), ggufU64(count), copy.subarray(place + 8)])
    })
    const cut = at.map(
      (place): Mutation =>
        (copy) =>
          copy.subarray(0, place),
    )
    const splice = fc.tuple(at, at, fc.integer({ min: 1, max: 64 })).map(([from, to, bytes]): Mutation => {
      return (copy) => Buffer.concat([copy.subarray(0, to), base.subarray(from, from + bytes), copy.subarray(to)])
    })
    return fc.oneof(flip, lie, cut, splice)
  }

  it('ends with an answer or what is damaged, in bounded reads and flat memory', async () => {
    const hello = (await readFile(HELLO)).subarray(0, 60_000)
    const damaged = [small, hello].map((base) =>
      fc
        .array(mutationOf(base), { minLength: 1, maxLength: 4 })
        .map((mutations) => mutations.reduce<Buffer>((copy, mutate) => mutate(copy), base)),
    )
    const random = fc.uint8Array({ maxLength: 2_000 }).map((bytes) => Buffer.concat([ggufU32(3), Buffer.from(bytes)]))
    const path = join(folder, 'fuzzed.gguf')
    const handle = await open(path, 'w+')
    const before = await heldBytes()
    const outcomes = { read: 0, damaged: 0 }
    await fc.assert(
      fc.asyncProperty(fc.oneof(...damaged, random), async (content) => {
        await handle.truncate(0)
        await handle.write(content, 0, content.length, 0)
        const outcome = await readGgufHeader(handle)
        outcomes[outcome.ok ? 'read' : 'damaged']++
        if (!outcome.ok) {
          expect(outcome.error).toMatch(/^(ends|is|has|names|counts|nests|describes) /)
          return
        }
        expect(outcome.value.reads).toBeLessThanOrEqual(MAX_READS)
        expect(outcome.value.readBytes).toBeLessThanOrEqual(content.length + CHUNK_BYTES)
        const { facts } = resolveFacts(outcome.value)
        expect(facts.native_ctx === null || (Number.isSafeInteger(facts.native_ctx) && facts.native_ctx > 0)).toBe(true)
      }),
      { numRuns: 4_000 },
    )
    await handle.close()
    // Both ends are reached, or the mutations teach nothing.
    expect(outcomes.read).toBeGreaterThan(100)
    expect(outcomes.damaged).toBeGreaterThan(1_000)
    expect((await heldBytes()) - before).toBeLessThan(20_000_000)
  }, 120_000)
})
