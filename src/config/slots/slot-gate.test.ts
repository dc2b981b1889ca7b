import fc from 'fast-check'
import { stringify } from 'smol-toml'
import { describe, expect, it } from 'vitest'
import { DENIED_PAYLOADS } from '../../../test/support/denied-payloads.ts'
import { Hal0Error } from '../../kernel/errors.ts'
import { mergePatch } from '../toml/rules/merge-patch.ts'
import { isTable } from '../toml/rules/table.ts'
import { GuardedSlot, guardSlotPatch, guardSlotText, guardSlotWrite, type SlotSource } from './slot-gate.ts'

const context = (source: SlotSource) => ({ file: '/etc/slots/mine.toml', name: 'mine', source })
const right = { name: 'mine', model: { default: 'hello' } }

function refusal(action: () => unknown): Hal0Error {
  try {
    action()
  } catch (cause) {
    if (cause instanceof Hal0Error) return cause
    throw cause
  }
  throw new Error('nothing was refused')
}

describe.each(DENIED_PAYLOADS)('$name', ({ payload, code, diskCode, named }) => {
  const whole = mergePatch(right, payload)

  it.each(['api', 'cli', 'seed', 'stack', 'import'] as const)('is refused to %s', (source) => {
    const error = refusal(() => guardSlotWrite(whole, context(source)))
    expect(error.code).toBe(code)
    for (const part of named) expect(error.message).toContain(part)
  })
  it('is refused as a patch of a file that is right', () => {
    const error = refusal(() => guardSlotPatch(right, payload, context('api')))
    expect(error.code).toBe(code)
    for (const part of named) expect(error.message).toContain(part)
  })
  it('is refused as text, and told from disk with the file', () => {
    const text = stringify(whole)
    expect(refusal(() => guardSlotText(text, context('cli'))).code).toBe(code)
    const error = refusal(() => guardSlotText(text, context('disk')))
    expect([error.code, error.message]).toEqual([diskCode, expect.stringContaining('/etc/slots/mine.toml: ')])
    for (const part of named) expect(error.message).toContain(part)
  })
  it('a patch that deletes it mends the file', () => {
    const nulls = Object.fromEntries(Object.entries(payload).map(([key, value]) => [key, nulled(value, key)]))
    const mended = guardSlotPatch(whole, nulls, context('api'))
    expect(mended.config.model.default).toBe('hello')
  })
})

describe('what a refusal says', () => {
  it('names owner and command of each tuning key', () => {
    const { message, details } = refusal(() =>
      guardSlotWrite({ ...right, parallel: 4, mmproj: '/x', model: { default: 'm', ctx_size: 1 } }, context('api')),
    )
    expect(message).toMatch(
      /parallel is no key of a slot: the profile owns it.*`hal0 profile create NAME --flags "--parallel N"`/,
    )
    expect(message).toMatch(/mmproj is no key of a slot: the model owns it.*models\.toml/)
    expect(message).toMatch(/model\.ctx_size is no key of a slot: .*\[tune\] \(`hal0 slot edit SLOT --ctx-size N`\)/)
    expect(details?.['keys']).toEqual(['model.ctx_size', 'parallel', 'mmproj'])
  })

  it('tells everything at once, under the code of the gravest', () => {
    const error = refusal(() =>
      guardSlotWrite(
        { name: 'mine', prot: 1, port: 70_000, parallel: 2, aliases: ['A!'], server: { env: { LD_PRELOAD: '/x' } } },
        context('api'),
      ),
    )
    expect(error.code).toBe('slot.tuning_key_denied')
    for (const key of ['parallel', 'LD_PRELOAD', 'prot', 'port: expected', 'aliases.0'])
      expect(error.message).toContain(key)
    expect(error.details?.['mistakes']).toEqual(
      expect.arrayContaining([
        { key: 'port', message: 'expected a whole number from 1 to 65535', code: 'validation.invalid' },
        expect.objectContaining({ key: 'parallel', owner: 'profile' }),
      ]),
    )
  })

  it('says where a key of the top stands when it slipped into a table', () => {
    const error = refusal(() => guardSlotWrite({ ...right, model: { default: 'm', autoload: true } }, context('api')))
    expect(error.message).toContain('model.autoload: unknown key; autoload belongs at the top of the file')
  })

  it.each([
    ['its own name as an alias', { aliases: ['mine'] }, 'own name'],
    ['an alias twice', { aliases: ['x', 'x'] }, '"x" is there twice'],
    ['another name', { name: 'other' }, 'expected "mine"'],
    ['[npu] elsewhere', { npu: { asr: true } }, 'is for device "npu"'],
    ['a table that is none', { model: 'hello' }, 'model: expected a table'],
    ['a variable that is none', { server: { env: { 'A=B': '1' } } }, 'expected a name of letters'],
    ['a value with a NUL', { server: { env: { A: 'a\0b' } } }, 'expected no NUL'],
  ])('%s', (_name, payload, part) => {
    const error = refusal(() => guardSlotWrite({ ...right, ...payload }, context('api')))
    expect([error.code, error.message]).toEqual(['validation.invalid', expect.stringContaining(part)])
  })

  it.each([[null], ['x'], [[]], [1]])('%j is no slot', (payload) => {
    expect(refusal(() => guardSlotWrite(payload, context('api'))).code).toBe('validation.invalid')
    expect(refusal(() => guardSlotPatch(right, payload, context('api'))).code).toBe('validation.invalid')
  })

  it('tells a writer what is no TOML', () => {
    expect(refusal(() => guardSlotText('name = = 1', context('cli'))).code).toBe('validation.invalid')
    expect(refusal(() => guardSlotText('name = = 1', context('disk'))).code).toBe('config.invalid')
  })
})

describe('what passes', () => {
  it.each([
    ['HF_TOKEN'],
    ['OMP_NUM_THREADS'],
    ['CUDA_VISIBLE_DEVICES'],
    ['HTTPS_PROXY'],
    // Case counts: another variable, which no engine reads.
    ['llama_arg_port'],
    ['path'],
  ])('the variable %s', (variable) => {
    const guarded = guardSlotWrite({ ...right, server: { env: { [variable]: '1' } } }, context('api'))
    expect(guarded.config.server.env).toEqual({ [variable]: '1' })
  })

  it('a null of a new slot is an absent key, and lru is let through', () => {
    const guarded = guardSlotWrite({ ...right, parallel: null, port: null, lru: true }, context('api'))
    expect(guarded.payload).toEqual({ ...right, lru: true })
  })

  it('an empty [tune] anywhere, a full one on an LLM', () => {
    expect(guardSlotWrite({ ...right, type: 'tts', tune: {} }, context('api')).config.tune).toEqual({})
    const tune = {
      ctx_size: 4096,
      enable_thinking: false,
      reasoning_effort: 'low',
      reasoning_budget: -1,
      vision: 'off',
      speculation: 'ngram',
    }
    expect(guardSlotWrite({ ...right, tune }, context('api')).config.tune).toEqual(tune)
  })
})

describe('a patch', () => {
  it('does not answer for what was wrong before', () => {
    const broken = { ...right, parallel: 4 }
    const error = refusal(() => guardSlotPatch(broken, { priority: 3 }, context('api')))
    expect([error.code, error.details?.['file']]).toEqual(['slot.unconverted', '/etc/slots/mine.toml'])
    const other = refusal(() => guardSlotPatch({ ...right, prot: 1 }, { priority: 3 }, context('api')))
    expect([other.code, other.message]).toEqual(['config.invalid', expect.stringContaining('prot')])
  })
  it('answers for what it breaks in combination', () => {
    const tuned = { ...right, tune: { ctx_size: 4096 } }
    expect(refusal(() => guardSlotPatch(tuned, { type: 'embedding' }, context('api'))).code).toBe('slot.config_error')
  })
})

describe('a patch that deletes', () => {
  it.each([
    [{ tune: { ctx_szie: null } }, 'tune.ctx_szie', 'did you mean ctx_size?'],
    [{ tuen: { ctx_size: null } }, 'tuen', 'did you mean tune?'],
    [{ prioritty: null }, 'prioritty', 'did you mean priority?'],
    [{ model: { priority: null } }, 'model.priority', 'belongs at the top'],
  ])('%j: a key that exists nowhere', (patch, key, part) => {
    const error = refusal(() => guardSlotPatch(right, patch, context('api')))
    expect([error.code, error.message]).toEqual(['validation.invalid', expect.stringContaining(`${key}: `)])
    expect(error.message).toContain(part)
  })

  it.each([
    [{ ...right, tune: { ctx_szie: 1 } }, { tune: { ctx_szie: null } }],
    [right, { tune: { ctx_size: null }, priority: null, server: { env: { ANY: null } } }],
    // Known, and no longer there.
    [right, { parallel: null, enabled: null, model: { ctx_size: null } }],
    [{ ...right, tune: { ctx_size: 4096 } }, { tune: { ctx_size: null } }],
    [{ ...right, server: { env: { A: '1' } } }, { server: { env: { A: null } } }],
  ])('%j without %j: no empty table is left', (current, patch) => {
    expect(guardSlotPatch(current, patch, context('api')).payload).toEqual(right)
  })

  it('an empty table that it asks for, or that has keys left, stays', () => {
    expect(guardSlotPatch(right, { tune: {} }, context('api')).payload).toEqual({ ...right, tune: {} })
    const tuned = { ...right, tune: { ctx_size: 4096, vision: 'off' } }
    const { payload } = guardSlotPatch(tuned, { tune: { ctx_size: null } }, context('api'))
    expect(payload).toEqual({ ...right, tune: { vision: 'off' } })
  })
})

describe('the brand', () => {
  it('cannot be forged', () => {
    const forged: GuardedSlot = Object.create(GuardedSlot.prototype)
    expect(() => forged.name).toThrow(TypeError)
  })
  it('keeps what was guarded, whatever happens to the object later', () => {
    const payload = { ...right, aliases: ['x'], server: { env: { A: '1' } } }
    const guarded = guardSlotWrite(payload, context('api'))
    Object.assign(payload.server.env, { LD_PRELOAD: '/x' })
    payload.aliases.push('agent')
    expect(guarded.payload).toEqual({ ...right, aliases: ['x'], server: { env: { A: '1' } } })
  })
  it('gives nothing but a slot or a refusal, whatever comes', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom('disk' as const, 'api' as const), (payload, source) => {
        const outcome = attempt(() => guardSlotWrite(payload, context(source)))
        expect(outcome instanceof GuardedSlot || outcome instanceof Hal0Error).toBe(true)
      }),
    )
  })
})

/** Deletes what a payload set, as far down as it named tables of a slot. */
function nulled(value: unknown, key: string): unknown {
  if (!isTable(value) || !['model', 'server', 'env', 'tune'].includes(key)) return null
  return Object.fromEntries(Object.entries(value).map(([inner, below]) => [inner, nulled(below, inner)]))
}

function attempt(action: () => unknown): unknown {
  try {
    return action()
  } catch (cause) {
    return cause
  }
}
