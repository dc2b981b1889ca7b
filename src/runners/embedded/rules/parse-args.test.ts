import { describe, expect, it } from 'vitest'
import { EMBEDDED_NO_EFFECT } from '../../rules/embedded-no-effect.ts'
import { abilitiesOf } from '../../rules/engine-facts.ts'
import { parseHelp } from '../../rules/parse-help.ts'
import { FLAGS, findFlag, helpText } from './flags.ts'
import { DEFAULT_SAMPLING } from './generation-settings.ts'
import { parseArgs } from './parse-args.ts'

const plain = {
  modelPath: 'm.gguf',
  host: '127.0.0.1',
  port: 8080,
  alias: 'm.gguf',
  ctxTokens: 0,
  threads: 0,
  parallel: 0,
  isParallelLimit: false,
  batchTokens: 0,
  defaults: { sampling: DEFAULT_SAMPLING, maxTokens: -1 },
  templateFile: undefined,
  templateVariables: {},
}
const sampling = (changed: object) => ({
  ...plain,
  defaults: { sampling: { ...DEFAULT_SAMPLING, ...changed }, maxTokens: -1 },
})

describe('parseArgs', () => {
  it.each([
    ['only a model', '-m m.gguf', plain],
    [
      'what a launch passes',
      '--host 127.0.0.1 --port 9001 --model m.gguf --alias a --ctx-size 4096 -ngl -1 --threads 3 --metrics',
      { ...plain, port: 9001, alias: 'a', ctxTokens: 4096, threads: 3 },
    ],
    ['an equals sign', '--model=m.gguf --alias=a=b', { ...plain, alias: 'a=b' }],
    ['the last of a repeated flag', '-m x.gguf -m m.gguf -c 5 --ctx-size 7', { ...plain, ctxTokens: 7 }],
    ["llama-server's -1 for automatic", '-m m.gguf -np -1 -t -1', plain],
    ['a number of requests that is a limit', '-m m.gguf -np 4 -kvu', { ...plain, parallel: 4, isParallelLimit: true }],
    ['a limit that is taken back', '-m m.gguf -np 4 -kvu -no-kvu', { ...plain, parallel: 4 }],
    ['the flags of a pooled profile', '-m m.gguf -b 8192 -ub 8192 --embedding', { ...plain, batchTokens: 8192 }],
    ['a temperature', '-m m.gguf --temp 0.2', sampling({ temperature: 0.2 })],
    [
      'the other sampling values',
      '-m m.gguf --top-k 0 --top-p .5 --min-p 0',
      sampling({ topK: 0, topP: 0.5, minP: 0 }),
    ],
    [
      'penalties',
      '-m m.gguf --repeat-penalty 1.1 --repeat-last-n -1 --presence-penalty -2 --frequency-penalty 1e-1',
      sampling({ repeatPenalty: 1.1, repeatLastTokens: -1, presencePenalty: -2, frequencyPenalty: 0.1 }),
    ],
    ['a seed', '-m m.gguf --seed 7', sampling({ seed: 7 })],
    ['a seed to be drawn', '-m m.gguf --seed 7 -s -1', plain],
    ['the length of answers', '-m m.gguf --n-predict 9', { ...plain, defaults: { ...plain.defaults, maxTokens: 9 } }],
    ['answers without limit', '-m m.gguf -n -1', plain],
    ['a template file', '-m m.gguf --chat-template-file /a/b.jinja', { ...plain, templateFile: '/a/b.jinja' }],
    ['thinking off', '-m m.gguf --reasoning off', { ...plain, templateVariables: { enable_thinking: false } }],
    ['thinking as the template likes', '-m m.gguf --reasoning on -rea auto', plain],
    [
      'template variables, which win over --reasoning',
      '-m m.gguf --chat-template-kwargs {"enable_thinking":true,"a":[1]} --reasoning off',
      { ...plain, templateVariables: { enable_thinking: true, a: [1] } },
    ],
  ])('reads %s', (_what, line, expected) => {
    expect(parseArgs(line.split(' '))).toEqual({ ok: true, value: expected })
  })

  it.each([
    ['', '--model is missing'],
    ['--model', '--model needs a value'],
    ['-m m.gguf --frobnicate', 'unknown argument "--frobnicate"'],
    ['-m m.gguf stray', 'unknown argument "stray"'],
    ['-m m.gguf --port x', '--port needs a whole number'],
    ['-m m.gguf --port 65536', '--port must be between 0 and 65535'],
    ['-m m.gguf --ctx-size -5', '--ctx-size must be 0 or more'],
    ['-m m.gguf --parallel 257', '--parallel must be at most 256'],
    ['-m m.gguf --metrics=yes', '--metrics takes no value'],
    ['-m m.gguf --temp warm', '--temp needs a number, not "warm"'],
    ['-m m.gguf --temp Infinity', '--temp needs a number'],
    ['-m m.gguf --top-k 1.5', '--top-k needs a whole number'],
    ['-m m.gguf --top-p 1.01', '--top-p must be between 0 and 1, not 1.01'],
    ['-m m.gguf --repeat-penalty 0', '--repeat-penalty must be between 0.01 and 100'],
    ['-m m.gguf --chat-template-kwargs [1]', '--chat-template-kwargs needs a JSON object, not "[1]"'],
    ['-m m.gguf --chat-template-kwargs {a', '--chat-template-kwargs needs a JSON object'],
    ['-m m.gguf --reasoning maybe', '--reasoning must be on, off, auto, not "maybe"'],
  ])('refuses "%s": %s', (line, message) => {
    const result = parseArgs(line === '' ? [] : line.split(' '))
    expect(result.ok ? result.value : result.error).toContain(message)
  })

  it('asks for help or the version instead of anything else', () => {
    expect(parseArgs(['-m', 'm.gguf', '--help'])).toEqual({ ok: true, value: 'help' })
    expect(parseArgs(['--version'])).toEqual({ ok: true, value: 'version' })
  })
})

describe('helpText', () => {
  const help = parseHelp(helpText())

  it('names every spelling of every flag, with its values, so that a launch can be checked against it', () => {
    const printed = [...(help?.flags ?? [])].map(([name, option]) => [name, option.names, option.values])
    expect(printed).toEqual(
      Object.values(FLAGS).flatMap((flag) =>
        flag.names.map((name) => [name, flag.names, flag.kind === 'switch' ? 0 : 1]),
      ),
    )
    expect(help?.flags.get('--reasoning')?.choices).toEqual(['on', 'off', 'auto'])
  })

  it('promises Jinja and nothing else', () => {
    expect(help === undefined ? undefined : abilitiesOf(help)).toEqual({
      jinja: true,
      mmproj: false,
      drafter: false,
      mtp: false,
      ngram: false,
    })
  })
})

describe('EMBEDDED_NO_EFFECT', () => {
  it('holds no flag that the engine knows', () => {
    expect([...EMBEDDED_NO_EFFECT].filter((name) => findFlag(name) !== undefined)).toEqual([])
  })

  it.each([
    '--cache-reuse',
    '--flash-attn',
    '-fa',
    '--cache-type-k',
    '-ctv',
    '--mmap',
    '--no-mmap',
    '--mlock',
    '-tb',
    '--no-kv-offload',
  ])('holds %s, which changes no answer', (name) => {
    expect(EMBEDDED_NO_EFFECT.has(name)).toBe(true)
  })

  it.each([
    '--mmproj',
    '--reranking',
    '--lora',
    '--grammar',
    '--rope-scaling',
    '--context-shift',
    '--pooling',
    '--api-key',
    '--log-file',
  ])('does not hold %s, which does', (name) => {
    expect(EMBEDDED_NO_EFFECT.has(name)).toBe(false)
  })
})
